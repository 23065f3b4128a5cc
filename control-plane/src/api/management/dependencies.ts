import type { ApprovalWaiters } from '../../access/approval-waiters.ts';
import type { TicketOutcomes } from '../../webhook/ticket-outcomes.ts';
import type { OriginReader } from '../http/request-origin.ts';
import type { Logger } from '@svault/server-kit/logger';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import type { Metrics } from '../../metrics.ts';
import type { MessageSender } from '../../notifications/send-message.ts';
import type { ProxyConfigDelivery } from '../../forwarding/proxy-config-sync.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Limits } from '../../limits/limits.ts';
import type { ExplainingEvaluator } from '../../policies/evaluate.ts';
import type { TokenRefresh } from '../../refresh/refresh-result.ts';
import type { SignInMethods } from '../../sign-in/methods.ts';
import type { WebhookBinder } from '../../webhook/binding.ts';
import type { CheckpointKeys } from '../../webhook/checkpoint-key.ts';
import type { ExpiringRecords } from '../../webhook/expiring-records.ts';
import type { KeyRotation } from '../../webhook/key-rotation.ts';
import type { OnlineStatus } from '../../webhook/outages.ts';
import type { WebhookClient } from '../../webhook/retrying-client.ts';
import type { StoreTickets, Tickets } from '../../webhook/tickets.ts';
import type { WebhookRecords } from '../../webhook/token-metadata.ts';
import type { ClientAddress } from '../http/client-address.ts';
import type { SessionCookie } from '../http/cookies.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import type { SetSessionCookie } from '../pages/page-session.ts';

/** What the management API is made of. */
export interface ManagementDependencies {
  readonly baseUrl: string;
  /** Scheme, host and port of the public address. */
  readonly ownOrigin: string;
  /** Entries of `SV_EGRESS_ALLOW`. */
  readonly egressAllow: readonly string[];
  /** Undefined: the log is kept whole. */
  readonly auditRetentionDays: number | undefined;
  readonly signInMethods: SignInMethods;
  readonly cookie: SessionCookie;
  readonly setSessionCookie: SetSessionCookie;
  readonly clientAddress: ClientAddress;
  readonly originOf: OriginReader;
  readonly limiter: Limiter;
  readonly limits: RouteLimits;
  /** The table that `limits` counts by. */
  readonly limitsInForce: Limits;
  readonly policies: ExplainingEvaluator;
  readonly stores: Stores;
  readonly unitOfWork: UnitOfWork;
  readonly masterKeys: MasterKeys;
  readonly waiters: ApprovalWaiters;
  readonly webhook: WebhookClient;
  readonly status: OnlineStatus;
  readonly binder: WebhookBinder;
  readonly checkpointKeyOf: CheckpointKeys;
  readonly rotation: KeyRotation;
  readonly records: WebhookRecords;
  readonly expiringRecords: ExpiringRecords;
  readonly tickets: Tickets;
  readonly storeTickets: StoreTickets;
  readonly ticketOutcomes: TicketOutcomes;
  readonly tokenRefresh: TokenRefresh;
  readonly proxyConfigs: ProxyConfigDelivery;
  readonly messages: MessageSender;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'eventStreams'>;
}

/** The part that a noun's routes take, and the stores that they read outside of a transaction. */
export type Needs<Name extends keyof ManagementDependencies, Store extends keyof Stores> = Pick<
  ManagementDependencies,
  Name
> & { readonly stores: Pick<Stores, Store> };
