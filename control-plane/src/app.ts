import express, { type Express } from 'express';
import { errorHandler } from '@svault/server-kit/error-handler';
import { apiHeaders } from '@svault/server-kit/security-headers';
import { createReadAgentProfile } from './agents/agent-profile.ts';
import { readCredentialHistory } from './audit/credential-history.ts';
import { createAccountExportRoutes } from './console-api/account-export-routes.ts';
import { createAccountRoutes } from './console-api/account-routes.ts';
import { createAgentRoutes } from './console-api/agent-routes.ts';
import { createAuditRoutes } from './console-api/audit-routes.ts';
import { createBindPage } from './console-api/bind-page.ts';
import { createFolderRoutes } from './console-api/folder-routes.ts';
import { createGrantRoutes } from './console-api/grant-routes.ts';
import { createHealthRoutes } from './console-api/health-routes.ts';
import { createCliLoginRoutes } from './console-api/cli-login-routes.ts';
import { createLimitRoutes } from './console-api/limit-routes.ts';
import { createLoginRoutes } from './console-api/login-routes.ts';
import { createMemberRoutes } from './console-api/member-routes.ts';
import { createPasswordRoutes } from './console-api/password-routes.ts';
import { createSignInPages } from './console-api/sign-in-pages.ts';
import { createOpenApiRoute } from './console-api/openapi.ts';
import { createPolicyRoutes } from './console-api/policy-routes.ts';
import { createProviderRoutes } from './console-api/provider-routes.ts';
import { createProxyRoutes } from './console-api/proxy-routes.ts';
import { createOverviewRoutes } from './console-api/overview-routes.ts';
import { createTokenRefreshRoutes } from './console-api/token-refresh-routes.ts';
import { createTokenRoutes } from './console-api/token-routes.ts';
import { createTokenTicketRoutes } from './console-api/token-ticket-routes.ts';
import { createVaultRoutes } from './console-api/vault-routes.ts';
import { createWebhookRoutes } from './console-api/webhook-routes.ts';
import type { Context } from './context.ts';
import { notFound } from './errors.ts';
import { createManagementAuthenticator } from './http/authenticate-management.ts';
import { createClientAddress, createTrustsPeer } from './http/client-address.ts';
import { sessionCookie } from './http/cookies.ts';
import { ERROR_STATUS } from './http/errors.ts';
import { mountRoutes } from './http/mount-routes.ts';
import { createOwnHost } from './http/own-host.ts';
import { createPageSession } from './http/page-session.ts';
import type { ManagementRoute } from './http/route-definition.ts';
import { createRouteLimits } from './http/route-limits.ts';
import { type SetSessionCookie, createSetSessionCookie } from './http/set-session-cookie.ts';
import { createAuthorizePage } from './oauth/authorize-page.ts';
import { createIntrospectEndpoint } from './oauth/introspect-endpoint.ts';
import { createMetadataEndpoints } from './oauth/metadata-endpoints.ts';
import { createRegisterEndpoint } from './oauth/register-endpoint.ts';
import { createRevokeEndpoint } from './oauth/revoke-endpoint.ts';
import { createTokenEndpoint } from './oauth/token-endpoint.ts';
import { createTools } from './mcp/all-tools.ts';
import { MCP_PATH, createMcpHandler } from './mcp/mcp-handler.ts';
import { createTokenUrlRule } from './providers/token-url.ts';
import { createProxyHandler } from './mcp-proxy/proxy-handler.ts';
import { CREDENTIALS_PATH, createCredentialHandler } from './rest/credential-handler.ts';
import { PROXY_PATH } from './proxies/proxy-path.ts';
import { type OfferConfig, createOfferConfig } from './proxies/offer-config.ts';
import { createDescribeGrants } from './tokens/describe-grants.ts';

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
