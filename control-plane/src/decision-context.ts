import type { Clock } from '@svault/shared';
import { createEgress } from '@svault/shared/egress';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import { type Access, createAccess } from './access/access.ts';
import { createExpiredGrants } from './access/expired-grants.ts';
import { createAuditWriter } from './audit/audit-writer.ts';
import { createDenialCounter } from './audit/denial-counter.ts';
import { createAuditShipper } from './audit/shipper.ts';
import { startJob } from './background.ts';
import { withoutLimits } from './limits/without-limits.ts';
import { withoutPolicies } from './policies/without-policies.ts';
import { createAccessStore } from './store/access-store-sqlite.ts';
import { createAuditCommit } from './store/audit-commit-sqlite.ts';
import type { Database } from './store/database.ts';
import type { Stores, UnitOfWork } from './unit-of-work.ts';
import { createAuditDelivery } from './webhook-link/audit-delivery.ts';
import { type WebhookBinder, createWebhookBinder } from './webhook-link/bind-webhook.ts';
import { type LinkedWebhook, createLinkedWebhook } from './webhook-link/linked-webhook.ts';
import { type OnlineStatus, createOnlineStatus } from './webhook-link/online-status.ts';
import { completeRotations } from './webhook-link/pending-keys.ts';
import { type KeyRotation, createKeyRotation } from './webhook-link/rotate-key.ts';
import { createSignedClient } from './webhook-link/signed-client.ts';
import { type StoreTickets, createStoreTickets } from './webhook-link/store-tickets.ts';
import { type Tickets, createTickets } from './webhook-link/tickets.ts';
import { createWebhookKeys } from './webhook-link/webhook-keys.ts';

/** The part of the context that decides about credentials and talks to webhooks. */
export interface DecisionContext {
  readonly access: Access;
  readonly tickets: Tickets;
  readonly storeTickets: StoreTickets;
  readonly webhook: LinkedWebhook;
  readonly webhookStatus: OnlineStatus;
  readonly binder: WebhookBinder;
  readonly rotation: KeyRotation;
  /** Ends the background work and writes what is counted but not yet in the log. */
  close(): Promise<void>;
}

/** How often what goes on beside the requests is looked after. */
const SHIPPING_PAUSE_MS = 500;
const PENDING_KEYS_PAUSE_MS = 5_000;
const DENIALS_PAUSE_MS = 5_000;

/** Built by `context.ts`, which owns the database; starts the background work. */
export function createDecisionContext({
  config,
  clock,
  logger,
  database,
  stores,
  unitOfWork,
}: {
  readonly config: { readonly baseUrl: string; readonly egressAllow: readonly string[] };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly database: Database;
  readonly stores: Stores;
  readonly unitOfWork: UnitOfWork;
}): DecisionContext {
  const { baseUrl } = config;
  const { audit: log, webhookLinks: links } = stores;
  const egress = createEgress({ allow: config.egressAllow });
  const keys = createWebhookKeys(database.masterKeys);
  const client = createSignedClient({ egress, clock });
  const webhookStatus = createOnlineStatus(clock);
  const webhook = createLinkedWebhook({ client, keys, status: webhookStatus });
  const tickets = createTickets({ baseUrl, keys, clock });
  const rotation = createKeyRotation({ links, unitOfWork, webhook, keys });

  const groupCommit = createGroupCommit(database.sqlite);
  const audit = createAuditWriter({ log: createAuditCommit(database.sqlite, groupCommit, clock), logger });
  const denials = createDenialCounter({ audit, clock });
  const access = createAccess({
    store: createAccessStore(database.sqlite),
    limiter: withoutLimits,
    policies: withoutPolicies,
    audit,
    denials,
    expiredGrants: createExpiredGrants(unitOfWork),
    offlineForSeconds: webhookStatus.offlineForSeconds,
    issueCredentialUrl: tickets.agentCredentialUrl,
    clock,
  });

  const destination = createAuditDelivery({ links, webhook, unitOfWork, clock });
  const shipper = createAuditShipper({ log, destination, clock, logger });
  const jobs = [
    startJob('audit shipping', () => shipper.ship(), { pauseMs: SHIPPING_PAUSE_MS, logger }),
    startJob('denial counts', () => denials.flush(), { pauseMs: DENIALS_PAUSE_MS, logger }),
    startJob('key rotation', () => completeRotations({ links, rotation, logger }), {
      pauseMs: PENDING_KEYS_PAUSE_MS,
      logger,
    }),
  ];

  return {
    access,
    tickets,
    storeTickets: createStoreTickets(tickets),
    webhook,
    webhookStatus,
    binder: createWebhookBinder({ links, client, webhook, keys, clock, baseUrl }),
    rotation,
    close: async () => {
      shipper.stop();
      await egress.close();
      await Promise.all(jobs.map((job) => job.stop()));
      await denials
        .flush(true)
        .catch((error: unknown) => logger.error({ err: error }, 'counted denials could not be written'));
    },
  };
}
