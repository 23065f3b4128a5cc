/**
 * `npm run bench [-- --only calls|fetch|rates|processes|proxy|rules|traces|run|idle|streams|watched|hostile|attack|starts|lists|cli|console|log|soak
 * --rounds N --seconds N --connections N --minutes N --compare FILE]`: measures what performance targets exist for, as ratios to a
 * yardstick in the same run, prints the table and writes the run under `bench/results/`. `--only` may be repeated; `log` and `soak`,
 * which take minutes and an hour, run only where they are named.
 * `--compare` prints what changed since the run of a file beyond the spread of both.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Pair, startPair } from '@svault/compose/pair';
import { buildPrograms } from '@svault/compose/program-process';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { newKey } from '@svault/shared';
import { comparison } from './compare.ts';
import { fsyncMs, LOAD_CORE, machine, pinnedTo, pinSelf, SERVER_CORE } from './machine.ts';
import { type Row, table, writeResults } from './report.ts';
import type { Measured } from './rounds.ts';
import { callRows } from './rows/calls.ts';
import { clientStarts } from './rows/client-start.ts';
import { consoleRows } from './rows/console.ts';
import { fetchRows } from './rows/fetch.ts';
import { hostileWebhookRows } from './rows/hostile-webhook.ts';
import { idleConnectionRows, manyDescriptors } from './rows/idle-connections.ts';
import { idleStreamRows } from './rows/idle-streams.ts';
import { processRows } from './rows/processes.ts';
import { proxyRows } from './rows/proxy.ts';
import { rateRows } from './rows/rates.ts';
import { requestRuleRows } from './rows/request-rules.ts';
import { runRows, startBenchApi } from './rows/run.ts';
import { ROOM, agentListRows, growthRow, logRows } from './rows/large-account.ts';
import { SOAK_ENV, soakRows } from './rows/soak.ts';
import { startAndIdleMemory } from './rows/start-and-memory.ts';
import { traceRows } from './rows/traces.ts';
import { watchingConsoleRows } from './rows/watching-consoles.ts';
import { webhookUnderAttackRows } from './rows/webhook-under-attack.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
    minutes: { type: 'string', default: '60' },
    compare: { type: 'string' },
  },
});
const options = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  connections: Number(values.connections),
};
const { rounds, seconds, connections } = options;
const servers = pinnedTo(SERVER_CORE);
const BESIDE = { 'control-plane': servers, webhook: pinnedTo(LOAD_CORE) };
const TOGETHER = { 'control-plane': servers, webhook: servers };
/** What rows were computed of, by section. */
const measured: Record<string, readonly Measured[]> = {};
/** Read before anything is measured: a file that is not there is known at once. */
const earlier =
  values.compare === undefined
    ? undefined
    : (JSON.parse(readFileSync(values.compare, 'utf8')) as { readonly rows: readonly Row[] }).rows;

const SECTIONS: Readonly<Record<string, (dir: string) => Promise<readonly Row[]>>> = {
  calls: (dir) => together(dir, 'calls', callRows),
  fetch: (dir) => together(dir, 'fetch', fetchRows),
  rates: async (dir) => keep('rates', await rateRows(dir, options)),
  proxy: (dir) => withPair(join(dir, 'proxy'), TOGETHER, (pair) => proxyRows(pair, options)),
  idle: (dir) => {
    const launcher = { ...BESIDE, 'control-plane': manyDescriptors(servers) };
    return withPair(join(dir, 'idle'), launcher, (pair) => idleConnectionRows(pair, options));
  },
  streams: (dir) => {
    const launcher = { 'control-plane': manyDescriptors(servers), webhook: manyDescriptors(servers) };
    return withPair(join(dir, 'streams'), launcher, (pair) => idleStreamRows(pair, options));
  },
  rules: (dir) => withPair(join(dir, 'rules'), TOGETHER, (pair) => requestRuleRows(pair, options)),
  traces: (dir) => traceRows(join(dir, 'traces'), TOGETHER, options),
  run: async (dir) => {
    const place = join(dir, 'run');
    const api = await startBenchApi(place);
    const trusting = { NODE_EXTRA_CA_CERTS: api.certificate };
    try {
      return await withPair(
        join(place, 'pair'),
        BESIDE,
        (pair) => runRows(pair, api, place, options),
        trusting,
      );
    } finally {
      api.close();
    }
  },
  processes: (dir) => processRows(join(dir, 'processes'), options),
  watched: (dir) => withPair(join(dir, 'watched'), BESIDE, (pair) => watchingConsoleRows(pair, options)),
  hostile: (dir) => besideHostile(join(dir, 'hostile')),
  attack: (dir) => webhookUnderAttackRows(mkdtempSync(join(dir, 'attack-')), options),
  starts: (dir) =>
    withPair(join(dir, 'starts'), BESIDE, (pair) => startAndIdleMemory(pair, join(dir, 'starts'), rounds)),
  lists: (dir) => besideLarge(join(dir, 'lists'), agentListRows),
  cli: (dir) => {
    const launcher = { ...BESIDE, webhook: servers };
    return withPair(join(dir, 'cli'), launcher, (pair) => clientStarts(pair, join(dir, 'client'), rounds));
  },
  console: (dir) => withPair(join(dir, 'console'), BESIDE, (pair) => consoleRows(pair, rounds)),
  log: (dir) =>
    withPair(join(dir, 'small'), BESIDE, (small) =>
      besideLarge(join(dir, 'log'), async (large, place) => [
        ...(await logRows(large, place)),
        await growthRow(small, large, options),
      ]),
    ),
  soak: (dir) =>
    withPair(
      join(dir, 'soak'),
      TOGETHER,
      (pair) => soakRows(pair, Number(values.minutes), connections),
      SOAK_ENV,
    ),
};
/** They take long. */
const ON_DEMAND: readonly string[] = ['log', 'soak'];
const only = values.only ?? Object.keys(SECTIONS).filter((name) => !ON_DEMAND.includes(name));
const unknown = only.filter((name) => !Object.hasOwn(SECTIONS, name));
if (unknown.length > 0)
  throw new Error(`--only takes ${Object.keys(SECTIONS).join(', ')}; not ${unknown.join(', ')}`);

await buildPrograms();
pinSelf();
const work = mkdtempSync(join(tmpdir(), 'svault-bench-'));
try {
  const disk = fsyncMs(work);
  console.log(`bench: ${rounds} rounds of ${seconds} s each, ${connections} connections, one core a server`);
  console.log(`a 4 KiB append reaches this disk in ${disk.toFixed(2)} ms`);
  const rows: Row[] = [];
  for (const [name, section] of Object.entries(SECTIONS))
    if (only.includes(name)) rows.push(...(await section(work)));
  console.log(`\n${table(rows)}`);
  const run = { machine: { ...machine(), fsyncMs: disk }, options, rows, measured };
  if (earlier !== undefined) console.log(`\n${comparison(earlier, rows)}`);
  console.log(`\nwritten to ${writeResults(run, new Date())}`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Both programs on the servers' core. */
function together(dir: string, name: string, rowsOf: typeof callRows): Promise<readonly Row[]> {
  const place = join(dir, name);
  return withPair(place, TOGETHER, async (pair) => keep(name, await rowsOf(pair, place, options)));
}

function keep(section: string, result: Awaited<ReturnType<typeof rateRows>>): readonly Row[] {
  measured[section] = result.measured;
  return result.rows;
}

/** Beside an account of its own, which the rows fill. */
function besideLarge(dir: string, rows: typeof logRows): Promise<readonly Row[]> {
  return withPair(dir, BESIDE, (pair) => rows(pair, dir), ROOM);
}

/** Two accounts: of two starts, as an operator makes them. */
async function besideHostile(dir: string): Promise<readonly Row[]> {
  // Not the placeholder: a start with another address would rename that one.
  const place = { dir, launcher: BESIDE, ownerEmail: 'bench@localhost' };
  const first = await startPair({ ...place, env: RAISED_LIMITS });
  await first.stop();
  const hostileKey = newKey('svadmin');
  const env = {
    ...RAISED_LIMITS,
    SV_BOOTSTRAP_EMAIL: 'hostile@localhost',
    SV_BOOTSTRAP_ADMIN_KEY: hostileKey,
    SV_BOOTSTRAP_ADMIN_KEY_FILE: '',
  };
  const portOf = (url: string): number => Number(new URL(url).port);
  const pair = await startPair({
    ...place,
    env,
    controlPlanePort: portOf(first.controlPlaneUrl),
    webhookPort: portOf(first.webhookUrl),
  });
  try {
    return await hostileWebhookRows(pair, hostileKey, options);
  } finally {
    await pair.stop();
  }
}

async function withPair(
  dir: string,
  launcher: NonNullable<Parameters<typeof startPair>[0]['launcher']>,
  measure: (pair: Pair) => Promise<readonly Row[]>,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly Row[]> {
  const pair = await startPair({ dir, env: { ...RAISED_LIMITS, ...env }, launcher });
  try {
    return await measure(pair);
  } finally {
    await pair.stop();
  }
}
