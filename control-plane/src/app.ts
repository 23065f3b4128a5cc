import express, { type Express } from 'express';
import { errorHandler } from '@svault/server-kit/error-handler';
import { apiHeaders } from '@svault/server-kit/security-headers';
import { createReadAgentProfile } from './api/mcp/tools/whoami.ts';
import { readCredentialHistory } from './audit/credential-history.ts';
import { createAccountExportRoutes } from './api/management/account-export.ts';
import { createAccountRoutes, createPasswordRoutes } from './api/management/account.ts';
import { createAgentRoutes } from './api/management/agents.ts';
import { createAuditRoutes } from './api/management/audit.ts';
import { createBindPage } from './api/pages/bind-page.ts';
import { createFolderRoutes } from './api/management/folders.ts';
import { createGrantRoutes } from './api/management/grants.ts';
import { createHealthRoutes } from './api/management/health.ts';
import { createCliLoginRoutes, createLoginRoutes } from './api/management/sign-in.ts';
import { createLimitRoutes } from './api/management/limits.ts';
import { createMemberRoutes } from './api/management/members.ts';
import { createSignInPages } from './api/pages/sign-in-pages.ts';
import { createOpenApiRoute } from './api/management/openapi.ts';
import { createPolicyRoutes } from './api/management/policies.ts';
import { createProviderRoutes } from './api/management/providers.ts';
import { createProxyRoutes } from './api/management/proxies.ts';
import { createOverviewRoutes } from './api/management/overview.ts';
import { createTokenRefreshRoutes } from './api/management/token-refresh.ts';
import { createTokenRoutes } from './api/management/tokens.ts';
import { createTokenTicketRoutes } from './api/management/token-tickets.ts';
import { createVaultRoutes } from './api/management/vault.ts';
import { createWebhookRoutes } from './api/management/webhook.ts';
import type { Context } from './context.ts';
import { notFound } from './core/errors.ts';
import { createManagementAuthenticator } from './api/management/authenticate-management.ts';
import { createClientAddress, createTrustsPeer } from './api/http/client-address.ts';
import { sessionCookie } from './api/http/cookies.ts';
import { ERROR_STATUS } from './api/http/errors.ts';
import { mountRoutes } from './api/management/mount-routes.ts';
import { createOwnHost } from './api/http/host-check.ts';
import { type SetSessionCookie, createPageSession, createSetSessionCookie } from './api/pages/page-session.ts';
import type { ManagementRoute } from './api/management/route-definition.ts';
import { createRouteLimits } from './api/http/route-limits.ts';
import { createAuthorizePage } from './api/oauth/authorize.ts';
import { createIntrospectEndpoint } from './api/oauth/introspect-endpoint.ts';
import { createMetadataEndpoints } from './api/oauth/metadata-endpoints.ts';
import { createRegisterEndpoint } from './api/oauth/register-endpoint.ts';
import { createRevokeEndpoint } from './api/oauth/revoke-endpoint.ts';
import { createTokenEndpoint } from './api/oauth/token-endpoint.ts';
import { MCP_PATH, createMcpHandler, createTools } from './api/mcp/mcp-handler.ts';
import { createTokenUrlRule } from './management/providers.ts';
import { createProxyHandler } from './api/mcp-proxy/proxy-handler.ts';
import { CREDENTIALS_PATH, createCredentialHandler } from './api/credentials/handler.ts';
import { PROXY_PATH } from './core/proxy.ts';
import { type OfferConfig, createOfferConfig } from './management/proxies.ts';
import { createDescribeGrants } from './api/mcp/describe-grants.ts';

/**
 * All middleware in the order in which a request meets it.
 *
 * @param leaving aborted once the program is to stop
 */
export function createApp(context: Context, leaving?: AbortSignal): Express {
  const { config, clock, logger, stores, unitOfWork } = context;
  const https = config.baseUrl.startsWith('https:');
  const ownOrigin = new URL(config.baseUrl).origin;
  const cookie = sessionCookie(config.baseUrl);
  const authenticate = createManagementAuthenticator({
    adminKeys: context.adminKeys,
    cliSessions: context.cliSessions,
    sessions: context.sessions,
    cookieName: cookie.name,
    ownOrigin,
  });

  const clientAddress = createClientAddress(config.trustedProxies);
  const limits = createRouteLimits({ limiter: context.limiter, limits: context.limits, clientAddress });

  const pageSession = createPageSession({
    sessions: context.sessions,
    unitOfWork,
    cookieName: cookie.name,
    ownOrigin,
  });

  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple');
  app.enable('case sensitive routing').enable('strict routing');

  // First, and with headers of their own: these paths are the ones that have to be fast.
  app.all(CREDENTIALS_PATH, createCredentialHandler({ access: context.access, clientAddress, https }));
  const ofPrograms = {
    clientAddress,
    ownHost: createOwnHost(config.baseUrl, createTrustsPeer(config.trustedProxies)),
    baseUrl: config.baseUrl,
    allowedOrigins: config.mcpAllowedOrigins,
  };
  const { access, proxyAccess, ongoingUses: ongoing, forward } = context;
  const mcp = createMcpHandler({ ...ofPrograms, access, tools: createTools(mcpFeatures(context)) });
  const proxy = createProxyHandler({ ...ofPrograms, access: proxyAccess, ongoing, forward });
  // Addresses that people copy into clients, some of which add a slash.
  for (const slash of ['', '/']) app.all(MCP_PATH + slash, mcp).all(PROXY_PATH + slash, proxy);
  app.use(apiHeaders({ https }));
  app.use(
    createHealthRoutes({
      databaseAnswers: context.database.answers,
      isDegraded: context.redisIsDown,
      isLeaving: () => leaving?.aborted === true,
    }),
  );
  app.use(
    mountRoutes(managementRoutes(context), {
      authenticate,
      stores,
      unitOfWork,
      limits,
      clientAddress,
      ownOrigin,
    }),
  );
  app.use(
    createSignInPages({
      baseUrl: config.baseUrl,
      stores,
      unitOfWork,
      limits,
      pageSession,
      cookie,
      setSessionCookie: setSessionCookieOf(context),
      clock,
      logger,
      https,
      signInMethods: context.signInMethods,
    }),
  );
  app.use(createBindPage({ pageSession, stores, binder: context.binder, https }));
  app.use(createMetadataEndpoints({ baseUrl: config.baseUrl }));
  app.use(createRegisterEndpoint({ stores, limits, clientAddress, clock }));
  app.use(
    createTokenEndpoint({ stores, unitOfWork, limits, masterKeys: context.database.masterKeys, clock }),
  );
  app.use(createRevokeEndpoint({ unitOfWork, limits }));
  app.use(createIntrospectEndpoint({ baseUrl: config.baseUrl, stores, limits, clock }));
  app.use(
    createAuthorizePage({
      baseUrl: config.baseUrl,
      stores,
      documents: context.clientDocuments,
      limits,
      pageSession,
      clock,
      https,
    }),
  );

  app.use(() => {
    throw notFound();
  });
  app.use(
    errorHandler({ statusOf: ERROR_STATUS, storageFailure: 'UNAVAILABLE', internal: 'INTERNAL', logger }),
  );
  return app;
}

const mcpFeatures = ({ database, records, stores }: Context): Parameters<typeof createTools>[0] => ({
  describeGrants: createDescribeGrants({ tokens: stores.tokens, records }),
  readProfile: createReadAgentProfile(stores),
  readHistory: (subject, request) =>
    readCredentialHistory({ log: stores.audit, keys: database.masterKeys }, subject, request),
});

const setSessionCookieOf = ({ config, sessions, unitOfWork }: Context): SetSessionCookie =>
  createSetSessionCookie({ sessions, unitOfWork, cookie: sessionCookie(config.baseUrl) });

const offerConfigOf = ({ stores, proxyConfigs, online, logger }: Context): OfferConfig =>
  createOfferConfig({ stores, delivery: proxyConfigs, status: online, logger });

/** Every management route, the OpenAPI document of all of them last. */
function managementRoutes(context: Context): ManagementRoute[] {
  const { config, clock, database, stores, unitOfWork } = context;
  const { binder, records, rotation, storeTickets, tickets, webhook } = context;
  const { baseUrl } = config;
  const cookie = sessionCookie(baseUrl);
  const byPassword = context.signInMethods.kind === 'password' ? context.signInMethods : undefined;
  const routes = [
    ...createLoginRoutes({
      clock,
      cookie,
      setSessionCookie: setSessionCookieOf(context),
      stores,
      unitOfWork,
      signInByPassword: byPassword?.signInByPassword,
    }),
    ...createCliLoginRoutes({ baseUrl, clock, masterKeys: database.masterKeys, stores, unitOfWork }),
    ...createAccountRoutes({ clock, stores }),
    ...createPasswordRoutes({ setting: byPassword?.passwordSetting }),
    ...createMemberRoutes({ baseUrl, clock, stores, withLinks: byPassword !== undefined }),
    ...createAccountExportRoutes({ clock, stores }),
    ...createOverviewRoutes({ clock, limiter: context.limiter, status: context.online, stores }),
    ...createAgentRoutes({ clock, masterKeys: database.masterKeys, stores }),
    ...createFolderRoutes({ clock, stores }),
    ...createGrantRoutes({ clock, stores }),
    ...createTokenRoutes({ clock, records, storeTickets, stores }),
    ...createTokenTicketRoutes({ storeTickets, tickets }),
    ...createTokenRefreshRoutes({ tokenRefresh: context.tokenRefresh }),
    ...createProviderRoutes({
      tokenUrlRule: createTokenUrlRule(config.egressAllow),
      clock,
      masterKeys: database.masterKeys,
      stores,
    }),
    ...createLimitRoutes({ limiter: context.limiter, stores }),
    ...createPolicyRoutes({ clock, policies: context.policies, stores }),
    ...createProxyRoutes({
      clock,
      masterKeys: database.masterKeys,
      offerConfig: offerConfigOf(context),
      rules: { plainHttp: config.egressAllow.length > 0, ownOrigin: new URL(baseUrl).origin },
      stores,
    }),
    ...createVaultRoutes({ clock, stores }),
    ...createWebhookRoutes({ stores, webhook, binder, rotation, clock }),
    ...createAuditRoutes({ log: stores.audit }),
  ];
  return [...routes, createOpenApiRoute(routes, { baseUrl, cookieName: cookie.name })];
}
