import type { Router } from 'express';
import type { Logger } from '@svault/server-kit/logger';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import type { ProxyConfigDelivery } from '../../forwarding/proxy-config-sync.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { createTokenUrlRule } from '../../management/providers.ts';
import { createOfferConfig } from '../../management/proxies.ts';
import type { ExplainingEvaluator } from '../../policies/evaluate.ts';
import type { TokenRefresh } from '../../refresh/refresh-result.ts';
import type { SignInMethods } from '../../sign-in/methods.ts';
import type { WebhookBinder } from '../../webhook/binding.ts';
import type { KeyRotation } from '../../webhook/key-rotation.ts';
import type { OnlineStatus } from '../../webhook/outages.ts';
import type { WebhookClient } from '../../webhook/retrying-client.ts';
import type { StoreTickets, Tickets } from '../../webhook/tickets.ts';
import type { WebhookRecords } from '../../webhook/token-metadata.ts';
import type { ClientAddress } from '../http/client-address.ts';
import type { SessionCookie } from '../http/cookies.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import type { SetSessionCookie } from '../pages/page-session.ts';
import { createAccountExportRoutes } from './account-export.ts';
import { createAccountRoutes } from './account.ts';
import { createAgentRoutes } from './agents.ts';
import { createAuditRoutes } from './audit.ts';
import { createManagementAuthenticator } from './authenticate-management.ts';
import { createFolderRoutes } from './folders.ts';
import { createGrantRoutes } from './grants.ts';
import { createLimitRoutes } from './limits.ts';
import { createMemberRoutes } from './members.ts';
import { mountRoutes } from './mount-routes.ts';
import { createOpenApiRoute } from './openapi.ts';
import { createOverviewRoutes } from './overview.ts';
import { createPolicyRoutes } from './policies.ts';
import { createProviderRoutes } from './providers.ts';
import { createProxyRoutes } from './proxies.ts';
import { createCliLoginRoutes, createLoginRoutes } from './sign-in.ts';
import { createTokenRefreshRoutes } from './token-refresh.ts';
import { createTokenTicketRoutes } from './token-tickets.ts';
import { createTokenRoutes } from './tokens.ts';
import { createVaultRoutes } from './vault.ts';
import { createWebhookRoutes } from './webhook.ts';

/** The management API: every route with its OpenAPI document. Each noun's function names what it takes of these. */
export function createManagementApi(dependencies: {
  readonly baseUrl: string;
  /** Scheme, host and port of the public address. */
  readonly ownOrigin: string;
  /** Entries of `SV_EGRESS_ALLOW`. */
  readonly egressAllow: readonly string[];
  readonly signInMethods: SignInMethods;
  readonly cookie: SessionCookie;
  readonly setSessionCookie: SetSessionCookie;
  readonly clientAddress: ClientAddress;
  readonly limiter: Limiter;
  readonly limits: RouteLimits;
  readonly policies: ExplainingEvaluator;
  readonly stores: Stores;
  readonly unitOfWork: UnitOfWork;
  readonly masterKeys: MasterKeys;
  readonly webhook: WebhookClient;
  readonly status: OnlineStatus;
  readonly binder: WebhookBinder;
  readonly rotation: KeyRotation;
  readonly records: WebhookRecords;
  readonly tickets: Tickets;
  readonly storeTickets: StoreTickets;
  readonly tokenRefresh: TokenRefresh;
  readonly proxyConfigs: ProxyConfigDelivery;
  readonly clock: Clock;
  readonly logger: Logger;
}): Router {
  const { baseUrl, ownOrigin, egressAllow, cookie, stores, signInMethods } = dependencies;
  const { name: cookieName } = cookie;
  const byPassword = signInMethods.kind === 'password' ? signInMethods : undefined;
  const routes = [
    ...createLoginRoutes({ ...dependencies, signInByPassword: byPassword?.signInByPassword }),
    ...createCliLoginRoutes(dependencies),
    ...createAccountRoutes({ ...dependencies, passwordSetting: byPassword?.passwordSetting }),
    ...createMemberRoutes({ ...dependencies, withLinks: byPassword !== undefined }),
    ...createAccountExportRoutes(dependencies),
    ...createOverviewRoutes(dependencies),
    ...createAgentRoutes(dependencies),
    ...createFolderRoutes(dependencies),
    ...createGrantRoutes(dependencies),
    ...createTokenRoutes(dependencies),
    ...createTokenTicketRoutes(dependencies),
    ...createTokenRefreshRoutes(dependencies),
    ...createProviderRoutes({ ...dependencies, tokenUrlRule: createTokenUrlRule(egressAllow) }),
    ...createLimitRoutes(dependencies),
    ...createPolicyRoutes(dependencies),
    ...createProxyRoutes({
      ...dependencies,
      offerConfig: createOfferConfig({ ...dependencies, delivery: dependencies.proxyConfigs }),
      rules: { plainHttp: egressAllow.length > 0, ownOrigin },
    }),
    ...createVaultRoutes(dependencies),
    ...createWebhookRoutes(dependencies),
    ...createAuditRoutes({ log: stores.audit }),
  ];
  // Last, since it describes the others.
  routes.push(createOpenApiRoute(routes, { baseUrl, cookieName }));
  const authenticate = createManagementAuthenticator({ ...dependencies, cookieName });
  return mountRoutes(routes, { ...dependencies, authenticate });
}
