import type { Kysely } from 'kysely';
import type { Clock, Id } from '@svault/shared';
import { type AuditEvent, type NewAuditEvent, changesDecisions, stampEvent } from '../../core/audit-event.ts';
import type { AuditChain, AuditFilter, AuditStore } from '../../core/audit-store.ts';
import { EMPTY_CHAIN } from '@svault/shared/audit-chain';
import { fromAuditRow } from './audit-rows.ts';
import { all, changesRow, run } from './queries.ts';
import { toEntity } from './rows.ts';
import type { Engine } from '../engine.ts';
import type { AuditEventRow, Schema } from '../schema.ts';

/** @param db of a unit of work, so that an event is written with the change that it reports */
export function createAuditStore(
  db: Kysely<Schema>,
  clock: Clock,
  writeEvents: Engine['writeEvents'],
): AuditStore {
  const appendAll = async (events: readonly NewAuditEvent[]): Promise<void> => {
    const [first] = events;
    if (first === undefined) return;
    const nowMs = clock.now();
    const stamped = events.map((event) => stampEvent(event, nowMs));
    const raisesRevision = events.some(({ eventType }) => changesDecisions(eventType));
    await writeEvents(db, first.vaultId, stamped, raisesRevision);
  };

  return {
    chainOf: (vaultId) => chainOf(db, vaultId),

    append: (event) => appendAll([event]),

    appendAll,

    scan: async (vaultId, filter, { limit, before }) => {
      const { agentId } = filter;
      const inOrder = newestFirst(db, vaultId, agentId, before);
      const conditions = conditionsBeyondTheIndex(filter);
      if (conditions.length === 0) return seen(await inOrder.selectAll().limit(limit).execute(), limit);
      const { rows, reached } = await (agentId === undefined
        ? newestRows(db, vaultId, before)
        : newestOfAgent(db, vaultId, inOrder));
      let query = rows;
      for (const [column, comparison, value] of conditions) query = query.where(column, comparison, value);
      const found = seen(await query.limit(limit).execute(), limit);
      return { ...found, reached: found.reached ?? reached };
    },

    after: (vaultId, seq, limit) =>
      all(
        db
          .selectFrom('audit_events')
          .selectAll()
          .where('vault_id', '=', vaultId)
          .where('seq', '>', seq)
          .orderBy('seq')
          .limit(limit),
        fromAuditRow,
      ),

    vaultsToVerify: () =>
      all(
        db
          .selectFrom('vaults')
          .select('id')
          .union(db.selectFrom('audit_chains').select('vault_id as id'))
          .orderBy('id'),
        ({ id }) => id,
      ),

    oldest: ({ after = '' as Id<'vlt'>, limit }) =>
      all(
        db
          .selectFrom('audit_chains')
          .leftJoin('audit_events', (join) =>
            join
              .onRef('audit_events.vault_id', '=', 'audit_chains.vault_id')
              .on('audit_events.seq', '=', ({ eb, ref }) => eb(ref('audit_chains.start_seq'), '+', 1)),
          )
          .select(['audit_chains.vault_id', 'audit_events.occurred_at as oldest_at'])
          .where('audit_chains.vault_id', '>', after)
          .orderBy('audit_chains.vault_id')
          .limit(limit),
        toEntity,
      ),

    cutStart: async (vaultId, from, to) => {
      const cut = db
        .updateTable('audit_chains')
        .set({ start_seq: to.seq, start_hash: to.hash })
        .where('vault_id', '=', vaultId)
        .where('start_seq', '=', from.seq)
        .where('start_hash', '=', from.hash)
        .where('head_seq', '>', to.seq);
      if (!(await changesRow(cut))) return false;
      await run(db.deleteFrom('audit_events').where('vault_id', '=', vaultId).where('seq', '<=', to.seq));
      return true;
    },

    backlog: ({ after = '' as Id<'vlt'>, limit }) =>
      all(
        db
          .selectFrom('audit_chains')
          .innerJoin('webhook_links', 'webhook_links.vault_id', 'audit_chains.vault_id')
          .select(['audit_chains.vault_id', 'shipped_seq'])
          .whereRef('shipped_seq', '<', 'head_seq')
          .where('audit_chains.vault_id', '>', after)
          .orderBy('audit_chains.vault_id')
          .limit(limit),
        toEntity,
      ),

    markShipped: (vaultId, from, to) =>
      changesRow(
        db
          .updateTable('audit_chains')
          .set({ shipped_seq: to })
          .where('vault_id', '=', vaultId)
          .where('shipped_seq', '=', from),
      ),
  };
}

/** The two ends of a vault's chain. */
export async function chainOf(db: Kysely<Schema>, vaultId: Id<'vlt'>): Promise<AuditChain> {
  const row = await db
    .selectFrom('audit_chains')
    .selectAll()
    .where('vault_id', '=', vaultId)
    .executeTakeFirst();
  if (row === undefined) return { head: EMPTY_CHAIN, start: EMPTY_CHAIN, shippedSeq: 0 };
  return {
    head: { seq: row.head_seq, hash: row.head_hash },
    start: { seq: row.start_seq, hash: row.start_hash },
    shippedSeq: row.shipped_seq,
  };
}

/** Rows of one scan: a millisecond or two. */
const MAX_LOOKED_AT = 2_000;
/** Fewer where they are not one after another in the table. */
const MAX_LOOKED_AT_OF_AGENT = 250;

/** In the order of an index, so that a limit bounds the rows that are read. */
function newestFirst(
  db: Kysely<Schema>,
  vaultId: Id<'vlt'>,
  agentId: Id<'agt'> | undefined,
  before: number | undefined,
) {
  let query = db.selectFrom('audit_events').where('vault_id', '=', vaultId);
  if (agentId !== undefined) query = query.where('agent_id', '=', agentId);
  if (before !== undefined) query = query.where('seq', '<', before);
  return query.orderBy('seq', 'desc');
}

/** A bounded number of the newest rows, and the lowest number among them; undefined where no row is left. */
interface LookedAt {
  readonly rows: ReturnType<typeof rowsOf>;
  readonly reached: number | undefined;
}

const rowsOf = (db: Kysely<Schema>, vaultId: Id<'vlt'>) =>
  newestFirst(db, vaultId, undefined, undefined).selectAll();

/** Numbers have no gaps, so a range of them is as many rows. */
async function newestRows(
  db: Kysely<Schema>,
  vaultId: Id<'vlt'>,
  before: number | undefined,
): Promise<LookedAt> {
  const end = (which: 'min' | 'max') =>
    db
      .selectFrom('audit_events')
      .select(({ fn }) => fn[which]<number | null>('seq').as('seq'))
      .where('vault_id', '=', vaultId);
  const { first, last } = await db
    .selectNoFrom([end('min').as('first'), end('max').as('last')])
    .executeTakeFirstOrThrow();
  const upTo = Math.min(before ?? Infinity, (last ?? 0) + 1);
  const from = upTo - MAX_LOOKED_AT;
  const rows = rowsOf(db, vaultId).where('seq', '<', upTo).where('seq', '>=', from);
  return { rows, reached: from <= (first ?? upTo) ? undefined : from };
}

/** By their numbers: for a range of numbers SQLite reads the rows of all agents. */
async function newestOfAgent(
  db: Kysely<Schema>,
  vaultId: Id<'vlt'>,
  inOrder: ReturnType<typeof newestFirst>,
): Promise<LookedAt> {
  const seqs = inOrder.select('seq').limit(MAX_LOOKED_AT_OF_AGENT);
  const { count, oldest } = await db
    .selectFrom(seqs.as('looked_at'))
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('seq').as('oldest')])
    .executeTakeFirstOrThrow();
  const rows = rowsOf(db, vaultId).where('seq', 'in', seqs);
  return { rows, reached: count < MAX_LOOKED_AT_OF_AGENT ? undefined : oldest };
}

type Condition = readonly [
  Exclude<keyof AuditEventRow, 'vault_id' | 'seq' | 'event_count'>,
  '=' | '>=' | '<',
  string,
];

/** Conditions without an index: each index would cost every credential request. */
function conditionsBeyondTheIndex(filter: AuditFilter): readonly Condition[] {
  const conditions: readonly (readonly [Condition[0], Condition[1], string | undefined])[] = [
    ['service_name', '=', filter.serviceName],
    ['event_type', '=', filter.eventType],
    ['outcome', '=', filter.outcome],
    ['proxy_id', '=', filter.proxyId],
    ['user_id', '=', filter.userId],
    ['channel', '=', filter.channel],
    ['address', '=', filter.address],
    ['request_id', '=', filter.requestId],
    ['occurred_at', '>=', filter.from],
    ['occurred_at', '<', filter.to],
  ];
  return conditions.filter((condition): condition is Condition => condition[2] !== undefined);
}

/** The rows of a statement with a limit; fewer rows than the limit mean that the scan reached its end. */
function seen(
  rows: readonly AuditEventRow[],
  limit: number,
): { readonly events: readonly AuditEvent[]; readonly reached: number | undefined } {
  const events = rows.map(fromAuditRow);
  return { events, reached: events.length < limit ? undefined : events.at(-1)?.seq };
}
