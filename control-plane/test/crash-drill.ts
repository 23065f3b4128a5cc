import { join } from 'node:path';
import type { Pair } from '@svault/compose/pair';
import { expect } from 'vitest';
import { inDatabase } from './database-files.ts';
import { type CallerReport, loadUntilKilled } from './load-until-killed.ts';

const GRANTED = 'github';
/** Uses that an agent never makes. */
const ENDLESS = 1_000_000;

interface Caller {
  readonly id: string;
  readonly apiKey: string;
  /** The `max_usage` of its policy. */
  readonly cap: number;
}

/** What all rounds of load saw of one agent's accesses. */
type Books = Map<string, CallerReport[]>;

/**
 * Kills the control plane under load again and again, starts it anew each time, then accounts for every access
 * (reliability R1): none that was answered without its audit row, none twice, chain and outbox without holes, and
 * the webhook has every event once. Every agent has a policy with a rate and a lifetime cap, which every second one
 * reaches: after each kill its count is what the log says was given, and never more than the cap.
 *
 * @param answersBeforeKill how many answers go out before the kill of a round (0, 1, …)
 * @param dir of the pair
 */
export async function crashDrill(
  pair: Pair,
  options: {
    readonly dir: string;
    readonly callers: number;
    readonly kills: number;
    readonly answersBeforeKill: (round: number) => number;
    /** What else befalls the pair at each kill. */
    readonly meanwhile?: () => Promise<void>;
  },
): Promise<void> {
  const { dir, callers: count, kills, answersBeforeKill, meanwhile } = options;
  const callers = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      makeCaller(pair, index % 2 === 0 ? 30 * (index + 1) : ENDLESS),
    ),
  );
  const books: Books = new Map(callers.map(({ id }) => [id, []]));
  for (let round = 0; round < kills; round++) {
    const killAt = answersBeforeKill(round);
    let killed: Promise<unknown> | undefined;
    const reports = await loadUntilKilled(pair.controlPlaneUrl, callers, {
      granted: GRANTED,
      round,
      onAnswer: (answers) => {
        if (answers < killAt) return;
        killed ??= Promise.all([pair.process('control-plane').kill(), meanwhile?.()]);
      },
    });
    await killed;
    for (const [id, report] of reports) books.get(id)?.push(report);
    await pair.restart('control-plane');
    expect(miscounts(join(dir, 'control-plane.db'), callers)).toEqual([]);
  }
  expect(discrepancies(join(dir, 'control-plane.db'), books)).toEqual([]);
  const reports = [...books.values()].flat();
  expect(reports.some(({ denied }) => denied > 0)).toBe(true);
  expect(await pair.admin.call('GET', '/api/audit/verify')).toMatchObject({ intact: true });
  await expect.poll(() => backlog(join(dir, 'control-plane.db')), { timeout: 60_000 }).toBe(0);
  expect(shippedIds(join(dir, 'webhook', 'webhook.db'))).toEqual(writtenIds(join(dir, 'control-plane.db')));
}

async function makeCaller({ admin }: Pair, cap: number): Promise<Caller> {
  const { agent, apiKey } = await admin.call<{ agent: { id: string }; apiKey: string }>(
    'POST',
    '/api/agents',
    {
      name: 'caller',
    },
  );
  await admin.call('POST', `/api/agents/${agent.id}/grants`, { serviceName: GRANTED });
  const { id } = await admin.call<{ id: string }>('POST', '/api/policies', {
    name: `at most ${cap}`,
    enabled: true,
    rules: [
      { type: 'rate_limit', limit: ENDLESS, windowSeconds: 3_600 },
      { type: 'max_usage', limit: cap },
    ],
  });
  await admin.call('POST', `/api/policies/${id}/attachments`, { targetType: 'agent', targetId: agent.id });
  return { id: agent.id, apiKey, cap };
}

/** Agents whose policy counted something else than the log says they were given, or more than it may; one line each. */
function miscounts(path: string, callers: readonly Caller[]): string[] {
  const count = (sql: string): ReadonlyMap<string, number> =>
    inDatabase(path, (db) => new Map(db.prepare<[], [string, number]>(sql).raw().all()));
  const used = count('SELECT target_id, used FROM policy_usage');
  const given = count(
    `SELECT agent_id, count(*) FROM audit_events
     WHERE event_type = 'AGENT_CREDENTIAL_ACCESS' AND outcome = 'success' GROUP BY 1`,
  );
  return callers
    .map(({ id, cap }) => ({ id, cap, used: used.get(id) ?? 0, given: given.get(id) ?? 0 }))
    .filter((books) => books.used !== books.given || books.used > books.cap)
    .map(
      ({ id, cap, used: counted, given: logged }) => `${id}: ${counted} counted, ${logged} given, cap ${cap}`,
    );
}

/** What the log says too little or too much of; one line each. */
function discrepancies(path: string, books: Books): string[] {
  const rows = inDatabase(path, (db) =>
    db
      .prepare<[], { agent: string; service: string; outcome: string; rows: number }>(
        `SELECT agent_id AS agent, service_name AS service, outcome, count(*) AS rows FROM audit_events
         WHERE event_type = 'AGENT_CREDENTIAL_ACCESS' GROUP BY 1, 2, 3`,
      )
      .all(),
  );
  const written = new Map(
    rows
      .filter(({ agent }) => books.has(agent))
      .map(({ agent, service, outcome, rows: n }) => [`${agent} ${service} ${outcome}`, n]),
  );
  const found: string[] = [];
  const check = (what: string, answered: number, lost: number): void => {
    const inLog = written.get(what) ?? 0;
    written.delete(what);
    if (inLog < answered || inLog > answered + lost)
      found.push(`${what}: ${answered} answered, ${lost} lost on the way, ${inLog} in the log`);
  };
  for (const [id, reports] of books) {
    const lost = reports.map((report) => report.lost);
    const redirected = reports.reduce((sum, report) => sum + report.redirected, 0);
    const denied = reports.reduce((sum, report) => sum + report.denied, 0);
    const lostAsks = lost.filter((name) => name === GRANTED).length;
    check(`${id} ${GRANTED} success`, redirected, lostAsks);
    check(`${id} ${GRANTED} denied`, denied, lostAsks);
    for (const name of reports.flatMap((report) => report.refused)) check(`${id} ${name} denied`, 1, 0);
    for (const name of lost) if (name !== GRANTED) check(`${id} ${name} denied`, 0, 1);
  }
  return [...found, ...[...written.keys()].map((what) => `${what}: nobody asked for this`)];
}

const backlog = (path: string): number =>
  inDatabase(
    path,
    (db) => db.prepare<[], number>('SELECT sum(head_seq - shipped_seq) FROM audit_chains').pluck().get() ?? 0,
  );

const writtenIds = (path: string): string[] =>
  inDatabase(path, (db) => db.prepare<[], string>('SELECT id FROM audit_events ORDER BY id').pluck().all());

const shippedIds = (path: string): string[] =>
  inDatabase(path, (db) =>
    db.prepare<[], string>("SELECT id FROM audit_log WHERE source = 'service' ORDER BY id").pluck().all(),
  );
