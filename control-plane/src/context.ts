import type { Clock } from '@svault/shared';
import { createEgress } from '@svault/shared/egress';
import type { Logger } from '@svault/server-kit/logger';
import { observeCommitBy } from '@svault/server-kit/meters';
import { NO_TRACER, type Tracer } from '@svault/server-kit/tracing';
import { createExpiredGrants } from './access/missing-grant.ts';
import { createApprovalWaiters } from './access/approval-waiters.ts';
import { createApprovals } from './access/approvals.ts';
import { createSealedApprovalCopies } from './access/sealed-approvals.ts';
import { createAccess } from './access/authorize-agent.ts';
import { OIDC_CALLBACK_PATH, passwordSignIn, oidcSignIn } from './sign-in/methods.ts';
import { createAuditWriter } from './audit/audit-writer.ts';
import { createDenialCounter } from './audit/denial-counter.ts';
import type { ControlPlaneConfig } from './config/config.ts';
import { createLimits } from './limits/limits.ts';
import { startLimiter } from './limits/start-limiter.ts';
import { createMetering } from './metering.ts';
import { type Metrics, NO_METRICS } from './metrics.ts';
import { createClientDocuments } from './authorization-server/client-metadata-documents.ts';
import { createPolicyEvaluator } from './policies/evaluate.ts';
import { readGeoDatabase } from './policies/geo-database.ts';
import { createProxyConfigDelivery } from './forwarding/proxy-config-sync.ts';
import { createBodyMemory, createOpenStreams } from './access/concurrency-limits.ts';
import { createOngoingUses } from './access/ongoing-uses.ts';
import { createProxyAccess } from './access/authorize-proxy.ts';
import { createSessionIds } from './access/session-ids.ts';
import { createCredentialRejections } from './forwarding/credential-rejections.ts';
import { createForward } from './forwarding/forward.ts';
import type { OpenOptions } from './store/database.ts';
import { openDatabase } from './store/open-database.ts';
import type { RootKeys } from './store/data-encryption-key.ts';
import { createMessageSender } from './notifications/send-message.ts';
import { createTokenRefresh } from './refresh/refresh-token.ts';
import { createWebhookRecords } from './webhook/token-metadata.ts';
import { createUpstreamSessions } from './forwarding/upstream-session.ts';
import { createWebhookBinder } from './webhook/binding.ts';
import { createCallBudget } from './webhook/call-budget.ts';
import { createCheckpointKeys } from './webhook/checkpoint-key.ts';
import { type Wait, createWebhookClient } from './webhook/retrying-client.ts';
import { createExpiringRecords } from './webhook/expiring-records.ts';
import { createOutageTracker } from './webhook/outages.ts';
import { createSetAsides } from './webhook/set-aside.ts';
import { createKeyRotation } from './webhook/key-rotation.ts';
import { createSignedClient } from './webhook/client.ts';
import { createSignatureAlarm } from './webhook/signature-alarm.ts';
import { createApprovalMirror } from './webhook/approval-mirror.ts';
import { createWebhookApprovals } from './webhook/approvals.ts';
import { createSealedApprovals } from './webhook/sealed-approvals.ts';
import { createTicketOutcomes } from './webhook/ticket-outcomes.ts';
import { createStoreTickets, createTickets } from './webhook/tickets.ts';
import { createWebhookKeys } from './webhook/webhook-keys.ts';

/** How long the control plane waits for others. Absent: the default at the place of the call. */
export interface Timeouts {
  /** A list waits for the webhook's metadata of credentials. */
  readonly recordsMs?: number | undefined;
  /** A decision waits for Redis. */
  readonly redisMs?: number | undefined;
  /** A sign-in waits for the identity provider, an authorization request for the client's metadata document. */
  readonly oauthMs?: number | undefined;
}

/** The parts of the program, built once. Features and routes name what they take of them. */
export type Context = Awaited<ReturnType<typeof createContext>>;

/** More than a webhook takes of an upstream's head, to which it adds some fields (PROTOCOL.md section 5.6). */
const ANSWER_HEAD = { bytes: 32 * 1024, fields: 250 };

/**
 * Builds all adapters.
 *
 * @throws UnusableGeoDatabase, AlreadyServing, WrongMasterKey, NewerSchema
 */
export async function createContext(
  config: ControlPlaneConfig,
  options: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics?: Metrics;
    readonly tracer?: Tracer;
    readonly waitToRetry?: Wait | undefined;
    readonly timeouts?: Timeouts | undefined;
    readonly migrations?: OpenOptions['migrations'];
  },
) {
  const { clock, logger, metrics = NO_METRICS, tracer = NO_TRACER } = options;
  const { waitToRetry, timeouts = {}, migrations } = options;
  const { baseUrl } = config;
  const metering = createMetering(metrics, clock);
  const policies = createPolicyEvaluator(await readGeoDatabase(config.geoipDb));
  const { egressAllow: allow, connectTo } = config;
  const egress = tracer.egress(createEgress({ allow, connectTo, answerHead: ANSWER_HEAD }));
  // The operator chooses the issuer, so its address is always allowed; the addresses that it names are checked.
  const providerEgress = config.oidc && createEgress({ allow: [...allow, hostOf(config.oidc.issuer)] });
  const database = await openDatabase(config.database, rootKeysOf(config), {
    clock,
    logger,
    opener: 'server',
    migrations,
    observeCommit: metrics === NO_METRICS ? undefined : observeCommitBy(metrics),
  });
  const { masterKeys, stores, unitOfWork } = database;
  const links = stores.webhookLinks;

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

  const audit = createAuditWriter({ log: database.auditCommit, logger });
  const denials = createDenialCounter({ audit, clock });

  const redirectUri = baseUrl + OIDC_CALLBACK_PATH;
  const signInMethods =
    config.oidc === undefined || providerEgress === undefined
      ? passwordSignIn({ stores, unitOfWork, denials, clock })
      : oidcSignIn(config.oidc, {
          unitOfWork,
          clock,
          egress: providerEgress,
          redirectUri,
          masterKeys,
          timeoutMs: timeouts.oauthMs,
        });

  const keys = createWebhookKeys(masterKeys);
  const status = createOutageTracker(clock);
  const client = metering.client(createSignedClient({ egress, clock }));
  const setAsides = createSetAsides(links, clock);
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
  const retrying = waitToRetry && { wait: waitToRetry };
  const signatureAlarm = createSignatureAlarm({ logger, clock });
  const webhook = createWebhookClient({ client, keys, status, budget, signatureAlarm, ...retrying });
  const tickets = createTickets({ baseUrl, keys, clock });

  const { offlineForSeconds } = status;
  const approvals = createApprovals({ stores, unitOfWork, clock, baseUrl });
  const mirror = createApprovalMirror(stores);
  const sealedApprovals = createSealedApprovals({
    ...{ links, names: stores.names, mirror, logger },
    webhook: createWebhookApprovals({ webhook, clock }),
    copies: createSealedApprovalCopies({ stores, unitOfWork, clock, baseUrl }),
  });
  const { learnStates } = sealedApprovals;
  const waiters = createApprovalWaiters({
    approvals: stores.approvals,
    learnStates,
    onError: (error) => logger.error({ err: error }, 'a webhook could not be asked what became of approvals'),
  });
  const parts = { limiter, limits, policies, audit, denials, approvals, offlineForSeconds, clock };
  const pipeline = metering.pipeline(parts);
  const agentAccess = createAccess({
    ...pipeline,
    sealedApprovals,
    waiters,
    store: metering.accessStore(database.accessStore),
    expiredGrants: createExpiredGrants(unitOfWork),
    issueCredentialUrl: metering.tickets(tickets.agentCredentialUrl),
  });
  const sessionIds = createSessionIds(masterKeys.derive('upstream session ids'));
  const streams = createOpenStreams();
  const proxyAccess = createProxyAccess({
    ...pipeline,
    sessionIds,
    waiters,
    store: metering.proxyAccessStore(database.proxyAccessStore),
    streams,
    bodies: createBodyMemory(),
  });
  const tokenRefresh = metering.refresh(
    createTokenRefresh({ webhook, stores, masterKeys, limiter, limits, audit, clock }),
  );

  const proxyConfigs = createProxyConfigDelivery({ stores, unitOfWork, webhook, clock });
  const forward = createForward({
    baseUrl,
    meterCall: metering.proxyCall,
    sessionIds,
    sealedApprovals,
    waiters,
    rejections: createCredentialRejections({ unitOfWork, clock, logger }),
    egress,
    keys,
    tickets,
    links,
    configs: proxyConfigs,
    signatureAlarm,
    refresh: tokenRefresh,
    sessions: createUpstreamSessions({ stores, unitOfWork, clock }),
    status,
    clock,
    logger,
  });

  return {
    config,
    clock,
    logger,
    metrics,
    database,
    stores,
    unitOfWork,
    masterKeys,
    signInMethods,
    access: metering.access(agentAccess),
    proxyAccess: metering.proxyAccess(proxyAccess),
    streams,
    waiters,
    learnStates,
    ongoingUses: createOngoingUses({ store: database.proxyAccessStore }),
    forward,
    clientDocuments: createClientDocuments({ egress, clock, timeoutMs: timeouts.oauthMs }),
    limiter,
    limits,
    /** Redis is configured to keep the limits, and does not answer. */
    redisIsDown: running.redisIsDown,
    evictExpiredLimits: running.evictExpired,
    denials,
    policies,
    webhook,
    egress,
    status,
    setAsides,
    binder: createWebhookBinder({ links, client, webhook, keys, clock, baseUrl }),
    checkpointKeyOf: createCheckpointKeys(masterKeys, baseUrl),
    rotation: createKeyRotation({ links, unitOfWork, webhook, keys }),
    tickets,
    storeTickets: createStoreTickets(tickets),
    records: createWebhookRecords({ links, webhook, status, mirror, withinMs: timeouts.recordsMs }),
    expiringRecords: createExpiringRecords({
      ...{ links, webhook, status, mirror, clock },
      withinMs: timeouts.recordsMs,
    }),
    tokenRefresh,
    ticketOutcomes: createTicketOutcomes({ links, webhook, clock }),
    proxyConfigs,
    messages: createMessageSender({ egress, clock, masterKeys, baseUrl, smtp: config.smtp }),
    close: async () => {
      running.close();
      await egress.close();
      await providerEgress?.close();
      await database.close();
    },
  };
}

/** As an egress allow list names it: IPv6 without brackets. */
const hostOf = (url: string): string => new URL(url).hostname.replaceAll(/^\[|\]$/g, '');

/** During a rotation either key may be the one that opens the database. */
export function rootKeysOf({ masterKey, masterKeyNext }: ControlPlaneConfig): RootKeys {
  return masterKeyNext === undefined ? [masterKey] : [masterKey, masterKeyNext];
}
