import type { Kysely } from 'kysely';
import type { Logger } from '@svault/server-kit/logger';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Clock } from '@svault/shared';
import type { AccessStore, ProxyAccessStore } from '../access/subject.ts';
import type { AuditCommit } from '../audit/audit-writer.ts';
import type { LeaderLease } from '../core/background-job.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import type { SharedOutages } from '../core/shared-outages.ts';
import type { Schema } from './schema/schema.ts';

/** An open database of either kind. */
export interface Database {
  readonly kysely: Kysely<Schema>;
  /** Wraps this database's secrets. */
  readonly masterKeys: MasterKeys;
  /** Each call stands alone. */
  readonly stores: Stores;
  readonly unitOfWork: UnitOfWork;
  /** For the credential path: one statement, prepared once. */
  readonly accessStore: AccessStore;
  /** The same for proxies. */
  readonly proxyAccessStore: ProxyAccessStore;
  /** For the credential path: what comes at the same time is written together. */
  readonly auditCommit: AuditCommit;
  readonly leaderLease: LeaderLease;
  readonly outages: SharedOutages;
  /** Rejects where the database cannot be read; costs the same however much is in it. */
  answers(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A `server` makes a database where there is none; a `tool` works beside it. */
  readonly opener: 'server' | 'tool';
}

/** There is no database at the place that the settings name. */
export class NoDatabase extends Error {
  constructor(place: string) {
    super(`there is no database at ${place}`);
    this.name = 'NoDatabase';
  }
}
