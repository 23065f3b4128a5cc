import { DatabaseSync } from 'node:sqlite';
import { type ChainedEvent, CHAIN_START, eventHash } from '@svault/shared/audit-chain';
import type { PairAndPeople } from './pair-and-people.ts';

/** The database of the control plane, opened beside it. */
export const databaseOf = ({ pair }: PairAndPeople): DatabaseSync =>
  new DatabaseSync(pair.databaseUrl.replace('sqlite:', ''));

/** The log as `audit export` writes it. */
export async function exportedEvents({ admin }: PairAndPeople): Promise<ChainedEvent[]> {
  const { out } = await admin.svault(['audit', 'export']);
  return out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ChainedEvent);
}

/** Writes a log in place of the one that is there, numbered anew and with every hash computed again. */
export function writeLog(database: DatabaseSync, events: Iterable<ChainedEvent>): void {
  database.exec('BEGIN IMMEDIATE; DELETE FROM audit_events');
  const insert = database.prepare(
    `INSERT INTO audit_events (vault_id, seq, id, event_type, outcome, occurred_at, agent_id, proxy_id, user_id, service_name,
       event_count, detail, request_id, channel, address, authenticated_by, user_agent, hash)
     VALUES (${Array(18).fill('?').join(', ')})`,
  );
  let hash = CHAIN_START;
  let seq = 0;
  for (const { hash: _hash, ...event } of events) {
    seq += 1;
    hash = eventHash(hash, { ...event, seq });
    const { vaultId, id, eventType, outcome, timestamp, agentId, proxyId, userId, serviceName, count } =
      event;
    const { requestId, channel, address, authenticatedBy, userAgent } = event.origin ?? {};
    const detail = event.detail && JSON.stringify(event.detail);
    const values = [
      vaultId,
      seq,
      id,
      eventType,
      outcome,
      timestamp,
      agentId,
      proxyId,
      userId,
      serviceName,
      count,
    ];
    values.push(detail, requestId, channel, address, authenticatedBy, userAgent, hash);
    insert.run(...values.map((value) => value ?? null));
  }
  database.prepare('UPDATE audit_chains SET head_seq = ?, head_hash = ?').run(seq, hash);
  database.exec('COMMIT');
}
