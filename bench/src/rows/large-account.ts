import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Pair } from '@svault/compose/pair';
import { cpuSeconds } from '../machine.ts';
import type { Row } from '../report.ts';
import { type RoundOptions, measure, median, medianOf, ratiosTo, rowOf } from '../rounds.ts';
import { TARGETS } from '../targets.ts';
import { controlPlaneContenders, pidOf } from './control-plane.ts';

const AGENTS = 100_000;
const GRANTS = 1_000_000;
const EVENTS = 10_000_000;
/** Room for these, and for the agents that ask. */
export const ROOM = { SV_LIMIT_MAX_AGENTS: '1000000', SV_LIMIT_MAX_GRANTS: '10000000' };
const REPEATS = 5;
/** For the filling alone: a crash loses nothing that is kept. */
const FAST = ['PRAGMA synchronous = OFF', 'PRAGMA cache_size = -1000000'];
/** Of the first event; three follow a second. */
const START_S = Date.UTC(2026, 0, 1) / 1_000;

const id = (prefix: string, number: number): string => `${prefix}_${String(number).padStart(22, '0')}`;
const idOf = (prefix: string, number: string): string => `printf('${prefix}_%022d', ${number})`;
const timeOf = (seconds: string): string =>
  `strftime('%Y-%m-%dT%H:%M:%fZ', ${START_S} + ${seconds}, 'unixepoch')`;
const numbersUpTo = (last: number): string =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${last})`;

const AGENT_ROWS = `${numbersUpTo(AGENTS)}
  INSERT INTO agents (id, vault_id, owner_id, name, name_key, name_hash, description, status, mcp_enabled, key_hash,
    key_prefix, key_wrapped, created_at)
  SELECT ${idOf('agt', 'n')}, vault_id, id, 'Build agent ' || n, 'build agent ' || n, n, 'An agent of the benchmark',
    'active', 0, n, 'svagent_abcd…', hex(randomblob(60)), ${timeOf('n')}
  FROM numbers CROSS JOIN users`;

/** Each agent's to ten services. */
const GRANT_ROWS = `${numbersUpTo(GRANTS)}
  INSERT INTO grants (id, vault_id, agent_id, service_name, refresh_policy, created_at)
  SELECT ${idOf('grt', 'n')}, vault_id, ${idOf('agt', `1 + n % ${AGENTS}`)}, 'service-' || (n / ${AGENTS}), 'none',
    ${timeOf('n')}
  FROM numbers CROSS JOIN audit_chains`;

/** Accesses of 1,000 agents to 200 credentials from 250 addresses, of which each 20th is denied; each 10th event is another one. */
const EVENT_ROWS = `${numbersUpTo(EVENTS)}
  INSERT INTO audit_events (vault_id, seq, id, event_type, outcome, occurred_at, agent_id, service_name, detail,
    request_id, channel, address, hash)
  SELECT vault_id, head_seq + n, ${idOf('evt', 'n')}, iif(n % 10 = 0, 'GRANT_CREATED', 'AGENT_CREDENTIAL_ACCESS'),
    iif(n % 20 = 1, 'denied', 'success'), ${timeOf('n / 3.0')}, ${idOf('agt', '1 + n % 1000')},
    'service-' || (n * 7919 % 200), iif(n % 20 = 1, '{"code":"NO_GRANT"}', NULL), ${idOf('req', 'n')}, 'rest',
    '192.0.2.' || (n * 104729 % 250), printf('%064x', n)
  FROM numbers CROSS JOIN audit_chains`;

/** Rows in the order of another index are slower one by one than in its making. */
const WITHOUT_INDEX = 'DROP INDEX audit_events_by_agent';
const WITH_INDEX = 'CREATE INDEX audit_events_by_agent ON audit_events (vault_id, agent_id, seq)';

/** Nothing is left to count and to ship. */
const HEAD = `UPDATE audit_chains SET head_seq = head_seq + ${EVENTS}, counted_seq = head_seq + ${EVENTS},
  shipped_seq = head_seq + ${EVENTS}, head_hash = printf('%064x', ${EVENTS})`;

const LISTS = [
  '/api/agents',
  '/api/agents?status=suspended',
  '/api/agents?name=agent%2099999',
  '/api/agents?name=nothing',
  '/api/agents?name=nothing&status=suspended',
];

/** Each filter by what many events have and by what none has, and pairs of them. */
const LOGS = [
  '/api/audit',
  '/api/audit?from=2026-02-08T00:00:00Z',
  '/api/audit?from=2030-01-01T00:00:00Z',
  '/api/audit?to=2026-01-02T00:00:00Z',
  '/api/audit?from=2026-01-02T00:00:00Z&to=2026-01-02T00:01:00Z',
  `/api/audit?agentId=${id('agt', 7)}`,
  `/api/audit?agentId=${id('agt', 0)}`,
  `/api/audit?agentId=${id('agt', 7)}&outcome=error`,
  `/api/audit?agentId=${id('agt', 7)}&serviceName=nothing`,
  `/api/audit?agentId=${id('agt', 7)}&to=2026-01-02T00:00:00Z`,
  '/api/audit?serviceName=service-7',
  '/api/audit?serviceName=nothing',
  '/api/audit?serviceName=service-7&outcome=error',
  '/api/audit?eventType=GRANT_CREATED',
  '/api/audit?eventType=LOGIN',
  '/api/audit?outcome=denied',
  '/api/audit?outcome=error',
  '/api/audit?outcome=denied&to=2026-01-02T00:00:00Z',
  '/api/audit?address=192.0.2.7',
  '/api/audit?address=198.51.100.7',
  '/api/audit?channel=mcp',
  `/api/audit?userId=${id('usr', 0)}`,
  `/api/audit?proxyId=${id('prx', 0)}`,
  `/api/audit?requestId=${id('req', 77)}`,
  '/api/audit/77',
  '/api/overview',
  '/api/overview/series',
];

/** An account of 100,000 agents: pages of their list, also of searches that find nothing. */
export const agentListRows = (pair: Pair, dir: string): Promise<readonly Row[]> =>
  slowestOf(pair, dir, { statements: [AGENT_ROWS], name: 'a page of 100,000 agents', paths: LISTS });

/** A log of 10 million rows and a million grants, which take minutes and 5 GB to write. */
export const logRows = (pair: Pair, dir: string): Promise<readonly Row[]> =>
  slowestOf(pair, dir, {
    statements: [AGENT_ROWS, GRANT_ROWS, WITHOUT_INDEX, EVENT_ROWS, WITH_INDEX, HEAD],
    name: 'a page of a log of 10 million rows',
    paths: LOGS,
  });

/** What a request costs in a filled account over what it costs in a new one. */
export async function growthRow(small: Pair, large: Pair, options: RoundOptions): Promise<Row> {
  const pids = [small, large].flatMap((pair) => [pidOf(pair, 'control-plane'), pidOf(pair, 'webhook')]);
  const ofSmall = await controlPlaneContenders(small);
  const ofLarge = await controlPlaneContenders(large);
  const [before, after] = await measure([ofSmall.credentials, ofLarge.credentials], pids, options);
  const [few = [], many = []] = [before?.rounds, after?.rounds];
  const [one, other] = [few, many].map((rounds) => medianOf(rounds, 'cpuMicros').toFixed(0));
  const name = 'credentials, CPU with 100,000 agents, 1 million grants and 10 million events to 100 agents';
  return rowOf(name, TARGETS.cpuOfGrowth, ratiosTo(few, many, 'cpuMicros'), `${one} µs, ${other} µs`);
}

async function slowestOf(
  pair: Pair,
  dir: string,
  {
    statements,
    name,
    paths,
  }: { readonly statements: readonly string[]; readonly name: string; readonly paths: readonly string[] },
): Promise<readonly Row[]> {
  await pair.process('control-plane').stop();
  const db = new DatabaseSync(join(dir, 'control-plane.db'));
  for (const statement of [...FAST, ...statements]) db.exec(statement);
  db.close();
  await pair.restart('control-plane');
  const measured = [];
  for (const path of paths) measured.push({ path, ...(await timesOf(pair, path)) });
  const [slowest] = measured.toSorted((one, other) => other.ms - one.ms);
  if (slowest === undefined) return [];
  const note = `GET ${slowest.path}, the slowest of ${paths.length}; ${slowest.cpuMs.toFixed(1)} ms of CPU time`;
  return [{ name, value: slowest.ms, target: TARGETS.page, note }];
}

/** The median of a request, and how much CPU time of the server one takes. */
async function timesOf(pair: Pair, path: string): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const pid = pidOf(pair, 'control-plane');
  const times: number[] = [];
  const cpuBefore = cpuSeconds(pid);
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const startedAt = performance.now();
    await pair.admin.call('GET', path);
    times.push(performance.now() - startedAt);
  }
  return { ms: median(times), cpuMs: ((cpuSeconds(pid) - cpuBefore) * 1_000) / REPEATS };
}
