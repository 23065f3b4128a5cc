import type { RequestListener } from 'node:http';
import express, { type Express } from 'express';
import { createDirectRoutes } from '@svault/server-kit/direct-routes';
import { errorHandler } from '@svault/server-kit/error-handler';
import type { PageIdentity } from '@svault/server-kit/html-page';
import { apiHeaders } from '@svault/server-kit/security-headers';
import {
  ACCESS_REQUESTS_PATH,
  createAccessRequestHandler,
} from './api/agent-approvals/access-request-handler.ts';
import { APPROVALS_PATH, createApprovalHandler } from './api/agent-approvals/approval-handler.ts';
import { AGENT_PROXIES_PATH, createAgentProxiesHandler } from './api/agent-proxies/handler.ts';
import { createConsolePath } from './api/console/built-files.ts';
import { createConsole } from './api/console/routes.ts';
import { CREDENTIALS_PATH, createCredentialHandler } from './api/credentials/handler.ts';
import { createClientAddress, createTrustsPeer } from './api/http/client-address.ts';
import { sessionCookie } from './api/http/cookies.ts';
import { ERROR_STATUS } from './api/http/errors.ts';
import { createHostCheck } from './api/http/host-check.ts';
import { createOriginReader } from './api/http/request-origin.ts';
import { createRouteLimits } from './api/http/route-limits.ts';
import { createHealthRoutes } from './api/management/health.ts';
import { createManagementApi } from './api/management/routes.ts';
import { MCP_PATH } from './api/mcp/mcp-handler.ts';
import { createMcpApi } from './api/mcp/routes.ts';
import { HTTP_ENDPOINT, MCP_ENDPOINT } from './api/proxy/endpoints.ts';
import { createProxyHandler } from './api/proxy/proxy-handler.ts';
import { createOauthApi } from './api/oauth/routes.ts';
import { createErrorPages } from './api/pages/error-pages.ts';
import { createPageSession, createSetSessionCookie } from './api/pages/page-session.ts';
import { createPages } from './api/pages/routes.ts';
import type { Context } from './context.ts';
import { notAWebhook, notFound } from './core/errors.ts';
import { PROXY_PATHS } from './core/proxy.ts';

/**
 * All middleware in the order in which a request meets it.
 *
 * @param options.leaving aborted once the program is to stop
 * @param options.consoleFolder where the built console is; that of this checkout unless given
 */
export function createApp(
  context: Context,
  options: { readonly leaving?: AbortSignal; readonly consoleFolder?: string | undefined } = {},
): { readonly app: Express; readonly listener: RequestListener } {
  const { leaving, consoleFolder } = options;
  const { config, logger, stores, unitOfWork, clock } = context;
  const {
    auditRetentionDays,
    baseUrl,
    egressAllow,
    mcpAllowedOrigins: allowedOrigins,
    trustedProxies,
  } = config;
  const https = baseUrl.startsWith('https:');
  const ownOrigin = new URL(baseUrl).origin;
  const cookie = sessionCookie(baseUrl);
  const clientAddress = createClientAddress(trustedProxies);
  const originOf = createOriginReader(clientAddress);
  /** Each API names what it takes of these. */
  const dependencies = {
    ...context,
    ...{
      auditRetentionDays,
      baseUrl,
      egressAllow,
      allowedOrigins,
      https,
      ownOrigin,
      cookie,
      clientAddress,
      originOf,
    },
    isOwnHost: createHostCheck(baseUrl, createTrustsPeer(trustedProxies)),
    limitsInForce: context.limits,
    limits: createRouteLimits({ limiter: context.limiter, limits: context.limits, clientAddress }),
    pageSession: createPageSession({
      stores,
      unitOfWork,
      cookieName: cookie.name,
      ownOrigin,
      originOf,
      clock,
    }),
    consolePath: createConsolePath(consoleFolder),
    setSessionCookie: createSetSessionCookie({ stores, unitOfWork, cookie, clock }),
    isLeaving: () => leaving?.aborted === true,
  };

  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple');
  app.enable('case sensitive routing').enable('strict routing');
  app.locals['identity'] = { program: 'control plane', url: baseUrl } satisfies PageIdentity;

  // First, and with headers of their own: these paths have to be fast.
  const direct = createDirectRoutes(app);
  direct.add(CREDENTIALS_PATH, createCredentialHandler(dependencies));
  direct.add(AGENT_PROXIES_PATH, createAgentProxiesHandler(dependencies));
  direct.add(ACCESS_REQUESTS_PATH, createAccessRequestHandler(dependencies));
  direct.addBelow(APPROVALS_PATH, createApprovalHandler(dependencies));
  const [mcp, proxy] = [createMcpApi(dependencies), createProxyHandler(MCP_ENDPOINT, dependencies)];
  // Addresses that people copy into clients, some of which add a slash.
  for (const slash of ['', '/']) {
    direct.add(MCP_PATH + slash, mcp);
    direct.add(PROXY_PATHS.mcp + slash, proxy);
  }
  direct.addBelow(PROXY_PATHS.http, createProxyHandler(HTTP_ENDPOINT, dependencies));
  app.use(apiHeaders({ https }));
  app.use(createHealthRoutes(dependencies));
  app.use(createManagementApi(dependencies));
  app.use(createPages(dependencies));
  app.use(createOauthApi({ ...dependencies, documents: context.clientDocuments }));
  app.use(createConsole({ ...dependencies, folder: consoleFolder }));
  app.use((req) => {
    throw req.path.startsWith('/v1/') ? notAWebhook() : notFound();
  });
  app.use(
    errorHandler({
      ...{ statusOf: ERROR_STATUS, storageFailure: 'UNAVAILABLE', internal: 'INTERNAL', logger },
      sendPage: createErrorPages({ https }),
    }),
  );
  return { app, listener: direct.listener };
}
