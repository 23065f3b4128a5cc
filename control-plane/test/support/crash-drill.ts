import { join } from 'node:path';
import type { Pair } from '@svault/compose/pair';
import { expect } from 'vitest';
import { inDatabase } from './database-files.ts';
import { type CallerReport, loadUntilKilled } from './load-until-killed.ts';
import type { StoredState } from './stored-state.ts';
import { uniqueName } from './unique-name.ts';

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
type Books = ReadonlyMap<string, CallerReport[]>;

/**
 * Kills the control plane under load again and again, starts it anew each time, then accounts for every access:
 * none that was answered without its audit row, none twice, chain and outbox without holes, and
 * the webhook has every event once. Every agent has a policy with a rate and a lifetime cap. Every second one reaches
 * its cap: after each kill its count is what the log says was given, and never more than the cap. Every fourth one
 * reaches its rate.
 *
 * @param answersBeforeKill how many answers go out before the kill of a round (0, 1, …)
 * @param state of the control plane
 * @param dir of the pair
 * @returns what the callers were told, all in all
 */
export async function crashDrill(
  pair: Pair,
  options: {
    readonly state: StoredState;
    readonly dir: string;
    readonly callers: number;
    readonly kills: number;
    readonly answersBeforeKill: (round: number) => number;
    /** What else befalls the pair at each kill. */
    readonly meanwhile?: () => Promise<void>;
  },
): Promise<{ readonly limited: number; readonly granted: ReadonlySet<string> }> {
  const { state, dir, callers: count, kills, answersBeforeKill, meanwhile } = options;
  const callers = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      makeCaller(pair, {
        cap: index % 2 === 0 ? 30 * (index + 1) : ENDLESS,
        rate: index % 4 === 1 ? 3 : ENDLESS,
      }),
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
    expect(await miscounts(state, callers)).toEqual([]);
  }
  expect(await discrepancies(state, books)).toEqual([]);
  expect(await pair.admin.call('GET', '/api/audit/verify')).toMatchObject({ intact: true });
  const backlog = () => state.value('SELECT sum(head_seq - shipped_seq) FROM audit_chains');
  await expect.poll(backlog).toBe(0);
  const written = await state.rows<{ id: string }>('SELECT id FROM audit_events ORDER BY vault_id, seq');
  expect(shippedIds(join(dir, 'webhook', 'webhook.db'))).toEqual(written.map(({ id }) => id));
  const reports = [...books.values()].flat();
  return {
    limited: reports.reduce((sum, { limited }) => sum + limited, 0),
    granted: new Set(reports.flatMap(({ granted }) => granted)),
  };
}

async function makeCaller(
  { admin }: Pair,
  { cap, rate }: { readonly cap: number; readonly rate: number },
): Promise<Caller> {
  const made = await admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
    name: uniqueName('caller'),
  });
  const { id: agentId } = made.agent;
  await admin.call('POST', `/api/agents/${agentId}/grants`, { allowMissing: true, serviceName: GRANTED });
  const { id } = await admin.call<{ id: string }>('POST', '/api/policies', {
    name: `at most ${cap}, ${rate} a second`,
    enabled: true,
    rules: [
      { type: 'rate_limit', limit: rate, windowSeconds: 1 },
      { type: 'max_usage', limit: cap },
    ],
  });
  await admin.call('POST', `/api/policies/${id}/attachments`, { targetType: 'agent', targetId: agentId });
  return { id: agentId, apiKey: made.apiKey, cap };
}

/** Agents whose policy counted something else than the log says they were given, or more than it may; one line each. */
async function miscounts(state: StoredState, callers: readonly Caller[]): Promise<string[]> {
  const count = async (sql: string): Promise<ReadonlyMap<string, number>> =>
    new Map((await state.rows<{ id: string; n: number }>(sql)).map(({ id, n }) => [id, n]));
  const used = await count('SELECT target_id AS id, used AS n FROM policy_usage');
  const given = await count(
    `SELECT agent_id AS id, count(*) AS n FROM audit_events
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
async function discrepancies(state: StoredState, books: Books): Promise<string[]> {
  // What limits refuse is counted by the minute, in an event that a kill may take with it.
  const rows = await state.rows<{ agent: string; service: string; outcome: string; n: number }>(
    `SELECT agent_id AS agent, service_name AS service, outcome, count(*) AS n FROM audit_events
     WHERE event_type = 'AGENT_CREDENTIAL_ACCESS' AND event_count IS NULL GROUP BY 1, 2, 3`,
  );
  const written = new Map(
    rows
      .filter(({ agent }) => books.has(agent))
      .map(({ agent, service, outcome, n }) => [`${agent} ${service} ${outcome}`, n]),
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
    const granted = reports.flatMap((report) => report.granted);
    const lostAsks = lost.filter((name) => name === GRANTED).length;
    for (const [outcome, answer] of [
      ['success', '307'],
      ['denied', '403 POLICY_DENIED'],
      ['rate_limited', '429 POLICY_DENIED'],
    ] as const)
      check(`${id} ${GRANTED} ${outcome}`, granted.filter((one) => one === answer).length, lostAsks);
    for (const name of reports.flatMap((report) => report.refused)) check(`${id} ${name} denied`, 1, 0);
    for (const name of lost) if (name !== GRANTED) check(`${id} ${name} denied`, 0, 1);
  }
  return [...found, ...[...written.keys()].map((what) => `${what}: nobody asked for this`)];
}

/** In the order in which the webhook wrote them. */
const shippedIds = (path: string): string[] =>
  inDatabase(path, (db) =>
    db.prepare<[], string>("SELECT id FROM audit_log WHERE source = 'service' ORDER BY seq").pluck().all(),
  );
