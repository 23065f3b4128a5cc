import type { RequestListener } from 'node:http';
import express from 'express';
import { WEBHOOK_ERROR_STATUS, type WebhookErrorCode, parseWebhookUrl } from '@svault/shared';
import { createConcurrencyLimit } from '@svault/server-kit/concurrency-limit';
import { createCountedLog } from '@svault/server-kit/counted-log';
import { createDirectRoutes } from '@svault/server-kit/direct-routes';
import { type RefusalCodes, createRefusalReader, errorHandler } from '@svault/server-kit/error-handler';
import { meterResponses } from '@svault/server-kit/metered-responses';
import { apiHeaderList, apiHeaders } from '@svault/server-kit/security-headers';
import type { Context } from './context.ts';
import { createDeliver } from './delivery/deliver.ts';
import { createStrayCredentialCounter } from './http/stray-credentials.ts';
import { createRequestAuthentication } from './http/authenticate-request.ts';
import { createTicketAuthenticator } from './http/authenticate-ticket.ts';
import { ApiError } from './errors.ts';
import { createPages } from './http/pages.ts';
import { stripPrefix } from './http/signed-message.ts';
import { NO_METRICS, endpointOf } from './metrics.ts';
import { createForward } from './proxy/forward.ts';
import { meterForward } from './proxy/metered-forward.ts';
import { createCallThroughProxy } from './proxy/proxied-call.ts';
import { createApprovalPageRoutes } from './routes/approval-pages.ts';
import { createApprovalRoutes } from './routes/approvals.ts';
import { createBindRoutes } from './routes/bind.ts';
import { createCredentialHandler } from './routes/credential.ts';
import { createExchangeRoute } from './routes/exchange.ts';
import { createHealthRoute, createProbeRoutes } from './routes/health.ts';
import { createProxyHandler } from './routes/proxy.ts';
import { createRefreshNotifyRoute, createRefreshRoute } from './routes/refresh.ts';
import { createStorageRoute } from './routes/storage/storage.ts';
import { createStoreRoute } from './routes/store.ts';
import { createRunOperation } from './routes/storage/operations.ts';
import { createWriteQuota } from './routes/storage/write-quota.ts';
import { createStoreByTicket } from './vault/store-by-ticket.ts';

const REFUSAL_CODES: RefusalCodes<WebhookErrorCode> = {
  statusOf: WEBHOOK_ERROR_STATUS,
  storageFailure: 'UNAVAILABLE',
  internal: 'INTERNAL',
};

/** For requests of the control plane's routes: people confuse the addresses of the two programs. */
const NOT_HERE =
  'this is a webhook, not a control plane: send the request to the address of the control plane';

/** Of one proxy. The control plane opens at most 64 (PROTOCOL.md section 2) in each of its processes. */
const MAX_OPEN_STREAMS = 256;

/**
 * The handlers of every request, in order.
 *
 * @param leaving aborted when the program is about to stop
 */
export function createApp(context: Context, leaving?: AbortSignal): RequestListener {
  const { config, clock, logger, metrics, refreshing } = context;
  const { webhookUrl, serviceUrl } = config;
  const quota = createWriteQuota(clock, metrics.writeQuotaDenials);
  // Unauthenticated clients cause these entries, so they are counted and not repeated.
  const rejections = createCountedLog({ logger, clock });
  leaving?.addEventListener('abort', () => rejections.flush(true));
  const requests = createRequestAuthentication({ ...context, logger: rejections, webhookUrl });
  const receiveRequest = requests.receive;
  const tickets = createTicketAuthenticator({ ...context, logger: rejections });

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.set('query parser', false);

  const https = webhookUrl.startsWith('https:');
  const staticHeaders = apiHeaderList({ https });

  // First, and with headers of their own: agents wait for these two.
  const direct = createDirectRoutes(app);
  const deliver = createDeliver(context);
  const countStrayCredentials = createStrayCredentialCounter(metrics.strayCredentials);
  const credential = createCredentialHandler({ tickets, deliver, countStrayCredentials, staticHeaders });
  direct.add('/v1/credential', credential);

  const forward = meterForward(createForward(context), metrics);
  const openStreams = createConcurrencyLimit(MAX_OPEN_STREAMS);
  const call = createCallThroughProxy({ ...context, forward, openStreams });
  direct.add('/v1/proxy', createProxyHandler({ requests, tickets, call, staticHeaders }));

  app.use(apiHeaders({ https }));
  const runOperation = createRunOperation({ ...context, quota });
  const refusalOf = createRefusalReader(REFUSAL_CODES);
  app.use(
    createStorageRoute({ receiveRequest, runOperation, synced: context.commit.synced, refusalOf, logger }),
  );

  const storeByTicket = createStoreByTicket(context);
  app.use(createStoreRoute({ ...context, tickets, storeByTicket, quota }));
  app.use(...createApprovalRoutes({ ...context, receiveRequest, quota, synced: context.commit.synced }));
  app.use(createRefreshNotifyRoute({ receiveRequest, notifyRefresh: refreshing.notify }));
  app.use(createRefreshRoute({ receiveRequest, leases: refreshing.leases }));
  app.use(createHealthRoute({ ...context, receiveRequest }));
  app.use(...createProbeRoutes({ ...context, isLeaving: () => leaving?.aborted === true }));
  const pages = createPages({ webhookUrl, isBound: context.bindFlow.isBound });
  app.use(createBindRoutes({ flow: context.bindFlow, pages, serviceUrl }));
  app.use(...createApprovalPageRoutes({ ...context, pages, webhookUrl }));
  app.use(createExchangeRoute({ ...context, receiveRequest, webhookUrl }));
  app.use((req) => {
    throw new ApiError(
      'NOT_FOUND',
      /^\/(?:api|login|vault|\.well-known)\b/.test(req.path) ? NOT_HERE : 'there is nothing here',
    );
  });
  // PROTOCOL.md SIG-58 and TIX-31: the same bytes for every refusal.
  const uniform = ['SIGNATURE_INVALID', 'TICKET_INVALID'] as const;
  const warned = ['DESTINATION_NOT_ALLOWED', 'UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT'] as const;
  app.use(errorHandler({ ...REFUSAL_CODES, uniform, warned, logger, sendPage: pages.sendError }));

  const toOwnPath = stripPrefix(pathPrefixOf(webhookUrl));
  const { listener } = direct;
  const serve = metrics === NO_METRICS ? listener : meterResponses(listener, { ...metrics, endpointOf });
  return (req, res) => {
    toOwnPath(req);
    serve(req, res);
  };
}

function pathPrefixOf(webhookUrl: string): string {
  const address = parseWebhookUrl(webhookUrl);
  return address.ok ? address.pathPrefix : '';
}
