import type { Kysely } from 'kysely';
import type { ObserveCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import type { AccessStore, ProxyAccessStore } from '../access/subject.ts';
import type { AuditCommit } from '../audit/audit-writer.ts';
import type { LeaderLease } from '../core/background-job.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import type { SharedOutages } from '../core/shared-outages.ts';
import type { SchemaMigration } from './migrations/schema-migration.ts';
import type { Schema } from './schema.ts';

/** An open database of either kind. */
export interface Database {
  readonly kysely: Kysely<Schema>;
  /** Wraps this database's secrets. */
  readonly masterKeys: MasterKeys;
  /** Each call is its own transaction. */
  readonly stores: Stores;
  readonly unitOfWork: UnitOfWork;
  /** For the credential path: prepared statements. */
  readonly accessStore: AccessStore;
  readonly proxyAccessStore: ProxyAccessStore;
  /** For the credential path: writes events that arrive at the same time together. */
  readonly auditCommit: AuditCommit;
  readonly leaderLease: LeaderLease;
  readonly outages: SharedOutages;
  /** Rejects where the database cannot be read, or its disk is full; costs the same for any size of it. */
  answers(): Promise<void>;
  /** What waits now, of all accounts; for metrics. */
  queues(): Promise<Queues>;
  /** Of this process; none on SQLite. */
  connections(): readonly PoolUse[];
  close(): Promise<void>;
}

export interface Queues {
  /** Events that bound webhooks have not acknowledged. */
  readonly undeliveredEvents: number;
  /** The time of the oldest of them. */
  readonly oldestUndeliveredAt: string | undefined;
  readonly notifications: number;
  readonly pendingApprovals: number;
}

export interface PoolUse {
  readonly pool: 'credentials' | 'management';
  readonly busy: number;
  readonly idle: number;
  /** Statements that wait for a connection. */
  readonly waiting: number;
}

export interface OpenOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A `server` creates a missing database; a `tool` works on an existing one, also while a server does. */
  readonly opener: 'server' | 'tool';
  /** In place of the program's own: in tests, those of another version of it. */
  readonly migrations?: readonly SchemaMigration[] | undefined;
  readonly observeCommit?: ObserveCommit | undefined;
}

/** There is no database at the address of the settings. */
export class NoDatabase extends Error {
  constructor(place: string) {
    super(`there is no database at ${place}`);
    this.name = 'NoDatabase';
  }
}
