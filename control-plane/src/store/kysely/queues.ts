import { type Kysely, sql } from 'kysely';
import { type Clock, formatTime } from '@svault/shared';
import type { Queues } from '../database.ts';
import type { Schema } from '../schema.ts';

/** Reads a row for each account, as the audit shipper does several times a second. */
export const createQueues = (db: Kysely<Schema>, clock: Clock) => async (): Promise<Queues> => {
  const [undelivered, { notifications }, { approvals }] = await Promise.all([
    db
      .selectFrom('audit_chains')
      .innerJoin('webhook_links', 'webhook_links.vault_id', 'audit_chains.vault_id')
      .leftJoin('audit_events', (join) =>
        join
          .onRef('audit_events.vault_id', '=', 'audit_chains.vault_id')
          .on('audit_events.seq', '=', sql<number>`shipped_seq + 1`),
      )
      .select(({ fn }) => [
        fn.sum<number | string | null>(sql`head_seq - shipped_seq`).as('events'),
        fn.min('occurred_at').as('oldest_at'),
      ])
      .whereRef('shipped_seq', '<', 'head_seq')
      .executeTakeFirstOrThrow(),
    db
      .selectFrom('notifications')
      .select(({ fn }) => fn.countAll<number>().as('notifications'))
      .executeTakeFirstOrThrow(),
    db
      .selectFrom('approvals')
      .select(({ fn }) => fn.countAll<number>().as('approvals'))
      .where('expires_at', '>', formatTime(clock.now()))
      .where('decision', 'is', null)
      .executeTakeFirstOrThrow(),
  ]);
  return {
    // A sum is `numeric` on PostgreSQL, and null of no row.
    undeliveredEvents: Number(undelivered.events ?? 0),
    oldestUndeliveredAt: undelivered.oldest_at ?? undefined,
    notifications,
    pendingApprovals: approvals,
  };
};
