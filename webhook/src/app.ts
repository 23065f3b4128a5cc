import express, { type Express } from 'express';
import type { Registry } from 'prom-client';
import { WEBHOOK_ERROR_STATUS, type WebhookErrorCode, parseWebhookUrl } from '@svault/shared';
import { createCountedLog } from '@svault/server-kit/counted-log';
import { errorHandler } from '@svault/server-kit/error-handler';
import { type RefusalCodes, createRefusalReader } from '@svault/server-kit/refusal';
import { apiHeaders } from '@svault/server-kit/security-headers';
import type { Context } from './context.ts';
import { createDeliver } from './delivery/deliver.ts';
import { countAnswers } from './http/answer-counter.ts';
import { createRequestAuthentication } from './http/authenticate-request.ts';
import { createTicketAuthenticator } from './http/authenticate-ticket.ts';
import { refusal } from './errors.ts';
import { createStrayCredentialCounter } from './http/stray-credentials.ts';
import { stripPrefix } from './http/strip-prefix.ts';
import { createForward } from './proxy/forward.ts';
import { createOpenStreams } from './proxy/open-streams.ts';
import { createCallThroughProxy } from './proxy/proxied-call.ts';
import { createBindRoutes } from './routes/bind.ts';
import { createCredentialRoute } from './routes/credential.ts';
import { createExchangeRoute } from './routes/exchange.ts';
import { createHealthRoute } from './routes/health.ts';
import { createProbeRoutes } from './routes/probes.ts';
import { createProxyRoute } from './routes/proxy.ts';
import { createRefreshNotifyRoute } from './routes/refresh-notify.ts';
import { createRefreshRoute } from './routes/refresh.ts';
import { createStorageRoute } from './routes/storage/storage.ts';
import { createStoreRoute } from './routes/store.ts';
import { createRunOperation } from './storage/run-operation.ts';
import { createWriteQuota } from './routes/storage/write-quota.ts';
import { createStoreByTicket } from './vault/store-by-ticket.ts';

const REFUSAL_CODES: RefusalCodes<WebhookErrorCode> = {
  statusOf: WEBHOOK_ERROR_STATUS,
  storageFailure: 'UNAVAILABLE',
  internal: 'INTERNAL',
};

/** Of one proxy. The service holds at most 64 (protocol section 2) in each of its processes. */
const MAX_OPEN_STREAMS = 256;

/**
 * Everything a request passes, in order.
 *
 * @param leaving aborted once the program is to stop
 */
export function createApp(context: Context, metrics: Registry, leaving?: AbortSignal): Express {
  const { config, clock, logger, vault, audit, commit, door, refreshing } = context;
  const { webhookUrl, serviceUrl } = config;
  const { binding, desk, isFresh } = door;
  const quota = createWriteQuota(clock);
  // What anybody can cause without a key.
  const strangers = createCountedLog({ logger, clock });
  leaving?.addEventListener('abort', () => strangers.flush(true));
  const requests = createRequestAuthentication({
    binding,
    desk,
    isFresh,
    clock,
    logger: strangers,
    webhookUrl,
  });
  const receiveRequest = requests.receive;
  const tickets = createTicketAuthenticator({ binding, desk, isFresh, clock, logger: strangers });

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.set('query parser', false);

  app.use(stripPrefix(pathPrefixOf(webhookUrl)));
  app.use(countAnswers(metrics));
  app.use(apiHeaders({ https: webhookUrl.startsWith('https:') }));
  app.use(
    createCredentialRoute({
      tickets,
      deliver: createDeliver({ vault, credentials: context.currentCredentials, audit, commit }),
      countStrayCredentials: createStrayCredentialCounter(metrics),
    }),
  );
  app.use(
    createStorageRoute({
      receiveRequest,
      runOperation: createRunOperation({ ...context, quota }),
      refusalOf: createRefusalReader(REFUSAL_CODES),
      logger,
    }),
  );
  app.use(
    createProxyRoute({
      requests,
      tickets,
      call: createCallThroughProxy({
        proxyConfigs: context.proxyConfigs,
        vault,
        credentials: context.currentCredentials,
        forward: createForward({ egress: context.egress }),
        clock,
        openStreams: createOpenStreams(MAX_OPEN_STREAMS),
        audit,
        commit,
      }),
    }),
  );
  app.use(
    createStoreRoute({ binding, tickets, storeByTicket: createStoreByTicket({ vault, audit }), quota }),
  );
  app.use(createRefreshNotifyRoute({ receiveRequest, notifyRefresh: refreshing.notify }));
  app.use(createRefreshRoute({ receiveRequest, leases: refreshing.leases }));
  app.use(createHealthRoute({ receiveRequest, binding, clock }));
  app.use(createProbeRoutes({ isReady: context.isReady, isLeaving: () => leaving?.aborted === true }));
  app.use(createBindRoutes({ desk: door.bindDesk, serviceUrl, webhookUrl }));
  app.use(
    createExchangeRoute({
      exchange: door.exchange,
      rotate: door.rotate,
      receive: receiveRequest,
      webhookUrl,
    }),
  );
  app.use(() => {
    throw refusal('NOT_FOUND', 'there is nothing here');
  });
  app.use(errorHandler({ ...REFUSAL_CODES, logger }));
  return app;
}

function pathPrefixOf(webhookUrl: string): string {
  const address = parseWebhookUrl(webhookUrl);
  return address.ok ? address.pathPrefix : '';
}
