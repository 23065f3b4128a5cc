import type { Clock } from '@svault/shared';
import { createEgress } from '@svault/shared/egress';
import type { Logger } from '@svault/server-kit/logger';
import type { Access, ProxyAccess } from './access/decision.ts';
import { createExpiredGrants } from './access/missing-grant.ts';
import { createAccess } from './access/authorize-agent.ts';
import { type AdminKeys, createAdminKeys } from './management/admin-keys.ts';
import { type Sessions, createSessions } from './sign-in/sessions.ts';
import { OIDC_CALLBACK_PATH, type SignInMethods, passwordSignIn, oidcSignIn } from './sign-in/methods.ts';
import { createAuditWriter } from './audit/audit-writer.ts';
import { createDenialCounter } from './audit/denial-counter.ts';
import { type CliSessions, createCliSessions } from './sign-in/cli/sessions.ts';
import type { ControlPlaneConfig } from './config/config.ts';
import type { StartJob } from './core/background-job.ts';
import { type Jobs, startJobs } from './jobs.ts';
import type { Limiter } from './limits/limiter.ts';
import { type Limits, createLimits } from './limits/limits.ts';
import { startLimiter } from './limits/start-limiter.ts';
import { type Metrics, NO_METRICS } from './metrics.ts';
import type { Timeouts } from './timeouts.ts';
import {
  type ClientDocuments,
  createClientDocuments,
} from './authorization-server/client-metadata-documents.ts';
import { type ExplainingEvaluator, createPolicyEvaluator } from './policies/evaluate.ts';
import { readGeoDatabase } from './policies/geo-database.ts';
import {
  type ProxyConfigDelivery,
  createProxyConfigDelivery,
  createProxyConfigRemoval,
} from './forwarding/proxy-config-sync.ts';
import { PROXY_PATH } from './core/proxy.ts';
import { createBodyMemory, createOpenStreams } from './access/concurrency-limits.ts';
import { type OngoingUses, createOngoingUses } from './access/ongoing-uses.ts';
import { createProxyAccess } from './access/authorize-proxy.ts';
import { createSessionIds } from './access/session-ids.ts';
import { createCredentialRejections } from './forwarding/credential-rejections.ts';
import { createForward } from './forwarding/forward.ts';
import type { Forward } from './forwarding/exchange.ts';
import { recheckUse } from './forwarding/recheck.ts';
import type { Database } from './store/database.ts';
import { openDatabase } from './store/open-database.ts';
import type { OperatorKeys } from './store/sealing-key.ts';
import type { TokenRefresh } from './refresh/refresh-result.ts';
import { createRefreshScheduler } from './refresh/scheduler.ts';
import { createTokenRefresh } from './refresh/refresh-token.ts';
import { type WebhookRecords, createWebhookRecords } from './webhook/token-metadata.ts';
import type { Stores, UnitOfWork } from './core/stores.ts';
import { createUpstreamSessions } from './forwarding/upstream-session.ts';
import { type WebhookBinder, createWebhookBinder } from './webhook/binding.ts';
import { createCallBudget } from './webhook/call-budget.ts';
import { type WebhookClient, type Wait, createWebhookClient } from './webhook/retrying-client.ts';
import { type OnlineStatus, createOutageTracker } from './webhook/outages.ts';
import { createSetAsides } from './webhook/set-aside.ts';
import { type KeyRotation, createKeyRotation } from './webhook/key-rotation.ts';
import { createSignedClient } from './webhook/client.ts';
import { type StoreTickets, type Tickets, createStoreTickets, createTickets } from './webhook/tickets.ts';
import { createWebhookKeys } from './webhook/webhook-keys.ts';
import { createOutageProber } from './webhook/outage-prober.ts';

/** Everything the program is made of, built once. Features and routes take what they need of it, never the whole. */
export interface Context {
  readonly config: ControlPlaneConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly database: Database;
  readonly stores: Stores;
  readonly unitOfWork: UnitOfWork;
  readonly adminKeys: AdminKeys;
  readonly sessions: Sessions;
  readonly cliSessions: CliSessions;
  readonly signInMethods: SignInMethods;
  readonly access: Access;
  readonly proxyAccess: ProxyAccess;
  readonly ongoingUses: OngoingUses;
  readonly forward: Forward;
  readonly clientDocuments: ClientDocuments;
  readonly limiter: Limiter;
  readonly limits: Limits;
  /** Redis is to keep the limits and is away. */
  readonly redisIsDown: () => boolean;
  readonly policies: ExplainingEvaluator;
  readonly webhook: WebhookClient;
  readonly online: OnlineStatus;
  readonly binder: WebhookBinder;
  readonly rotation: KeyRotation;
  readonly tickets: Tickets;
  readonly storeTickets: StoreTickets;
  readonly records: WebhookRecords;
  readonly tokenRefresh: TokenRefresh;
  readonly proxyConfigs: ProxyConfigDelivery;
  /** @param startJob by timers unless said otherwise */
  startJobs(startJob?: StartJob): Jobs;
  close(): Promise<void>;
}

/** More than a webhook takes of an upstream's head, which it hands on with some fields of its own (protocol.md 5.6). */
const ANSWER_HEAD = { bytes: 32 * 1024, fields: 250 };

/**
 * Builds all adapters.
 *
 * @throws UnusableGeoDatabase, AlreadyServing, WrongMasterKey, NewerSchema
 */
export async function createContext(
  config: ControlPlaneConfig,
  {
    clock,
    logger,
    metrics = NO_METRICS,
    waitToRepeat,
    timeouts = {},
  }: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics?: Metrics;
    readonly waitToRepeat?: Wait | undefined;
    readonly timeouts?: Timeouts | undefined;
  },
): Promise<Context> {
  const { baseUrl } = config;
  const policies = createPolicyEvaluator(await readGeoDatabase(config.geoipDb));
  const egress = createEgress({
    allow: config.egressAllow,
    connectTo: config.connectTo,
    answerHead: ANSWER_HEAD,
  });
  // Its address is the operator's choice, so no rule for addresses keeps from it; what else it names keeps to them.
  const providerEgress =
    config.oidc && createEgress({ allow: [...config.egressAllow, hostOf(config.oidc.issuer)] });
  const opening = { clock, logger, opener: 'server' } as const;
  const database = await openDatabase(config.database, operatorKeys(config), opening);
  const { masterKeys, stores, unitOfWork } = database;
  const links = stores.webhookLinks;

  const keys = createWebhookKeys(masterKeys);
  const status = createOutageTracker(clock);
  const client = createSignedClient({ egress, clock });
  const setAsides = createSetAsides({ links, clock });
  const budget = createCallBudget({
    clock,
    onExceeded: (vaultId) => {
      logger.warn({ vaultId }, 'the answers of a webhook cost too much; it is put aside');
      void links
        .find(vaultId)
        .then((link) => link && setAsides.add(link, 'too_many_answers'))
        .catch((error: unknown) => logger.error({ err: error, vaultId }, 'a webhook could not be put aside'));
    },
  });
  const webhook = createWebhookClient({
    client,
    keys,
    status,
    budget,
    ...(waitToRepeat && { wait: waitToRepeat }),
  });
  const rotation = createKeyRotation({ links, unitOfWork, webhook, keys });
  const tickets = createTickets({ baseUrl, keys, clock });

  const audit = createAuditWriter({ log: database.auditCommit, logger });
  const denials = createDenialCounter({ audit, clock });
  const limits = createLimits(config.limitOverrides);
  const { redisUrl } = config;
  const running = await startLimiter({
    // Loaded only where it is used, for its 15 MB.
    connectRedis:
      redisUrl &&
      (async (connecting) =>
        (await import('./store/redis/redis.ts')).connectRedis(redisUrl, connecting, timeouts.redisMs)),
    limits,
    clock,
    logger,
    metrics,
  });
  const { limiter } = running;
  const access = createAccess({
    store: database.accessStore,
    limiter,
    limits,
    policies,
    audit,
    denials,
    expiredGrants: createExpiredGrants(unitOfWork),
    offlineForSeconds: status.offlineForSeconds,
    issueCredentialUrl: tickets.agentCredentialUrl,
    clock,
  });

  const sessionIds = createSessionIds(masterKeys.derive('upstream session ids'));
  const proxyAccess = createProxyAccess({
    sessionIds,
    store: database.proxyAccessStore,
    limiter,
    limits,
    policies,
    audit,
    denials,
    offlineForSeconds: status.offlineForSeconds,
    streams: createOpenStreams(),
    bodies: createBodyMemory(),
    clock,
  });

  const ongoingUses = createOngoingUses({ store: database.proxyAccessStore });
  const tokenRefresh = createTokenRefresh({ webhook, stores, masterKeys, limiter, limits, audit, clock });
  const proxyConfigs = createProxyConfigDelivery({ stores, unitOfWork, webhook, clock });
  const upstreamSessions = createUpstreamSessions({ stores, unitOfWork, clock });
  const forward = createForward({
    proxyUrl: baseUrl + PROXY_PATH,
    sessionIds,
    rejections: createCredentialRejections({ unitOfWork, clock, logger }),
    egress,
    keys,
    tickets,
    links,
    recheck: (use) => recheckUse(stores, use),
    configs: proxyConfigs,
    refresh: tokenRefresh,
    sessions: upstreamSessions,
    status,
    clock,
    logger,
  });

  const redirectUri = baseUrl + OIDC_CALLBACK_PATH;
  const signInMethods =
    config.oidc === undefined || providerEgress === undefined
      ? passwordSignIn({ stores, unitOfWork, denials, clock })
      : oidcSignIn(config.oidc, { unitOfWork, clock, egress: providerEgress, redirectUri, masterKeys });

  return {
    config,
    clock,
    logger,
    database,
    stores,
    unitOfWork,
    adminKeys: createAdminKeys(stores, clock),
    sessions: createSessions(stores, clock),
    cliSessions: createCliSessions(stores, clock),
    signInMethods,
    access,
    proxyAccess,
    ongoingUses,
    forward,
    clientDocuments: createClientDocuments({ egress, clock }),
    limiter,
    limits,
    redisIsDown: running.redisIsDown,
    policies,
    webhook,
    online: status,
    binder: createWebhookBinder({ links, client, webhook, keys, clock, baseUrl }),
    rotation,
    tickets,
    storeTickets: createStoreTickets(tickets),
    records: createWebhookRecords({ links, webhook, status, withinMs: timeouts.recordsMs }),
    tokenRefresh,
    proxyConfigs,
    startJobs: (startJob) =>
      startJobs({
        startJob,
        stores,
        unitOfWork,
        claim: database.leaderLease,
        webhook,
        rotation,
        removeProxyConfigs: createProxyConfigRemoval({ stores, webhook, status, clock }).run,
        prober: createOutageProber({ tracker: status, outages: database.outages, links, egress, logger }),
        denials,
        endWithdrawnUses: ongoingUses.endWithdrawn,
        refreshScheduler: createRefreshScheduler({
          stores,
          webhook,
          status,
          setAsides,
          tokenRefresh,
          holdsLease: () => database.leaderLease.hold(),
          clock,
          random: Math.random,
          logger,
        }),
        evictExpiredLimits: running.evictExpired,
        auditRetentionDays: config.auditRetentionDays,
        clock,
        logger,
      }),
    close: async () => {
      running.close();
      await egress.close();
      await providerEgress?.close();
      await database.close();
    },
  };
}

/** As the way out names it: IPv6 without brackets. */
const hostOf = (url: string): string => new URL(url).hostname.replaceAll(/^\[|\]$/g, '');

/** During a rotation either key may be the one that opens the database. */
export function operatorKeys({ masterKey, masterKeyNext }: ControlPlaneConfig): OperatorKeys {
  return masterKeyNext === undefined ? [masterKey] : [masterKey, masterKeyNext];
}
