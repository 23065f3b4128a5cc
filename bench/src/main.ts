/**
 * `npm run bench [-- --rounds N --seconds N --connections N]`: measures what performance targets exist for, each rate
 * as a ratio to a bare Express server in the same run, prints the table and writes the run under `bench/results/`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startPair } from '@svault/compose/pair';
import { freePort } from '@svault/compose/free-port';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { fsyncMs, LOAD_CORE, machine, pinnedTo, pinSelf, SERVER_CORE } from './machine.ts';
import { table, writeResults } from './report.ts';
import { controlPlaneContenders, pidOf } from './rows/control-plane.ts';
import { mcpContenders } from './rows/mcp.ts';
import { startPostgresPair } from './rows/postgres-pair.ts';
import { rateRows } from './rows/rates.ts';
import { startAndIdleMemory } from './rows/start-and-memory.ts';
import { startWebhookContender } from './rows/webhook-credential.ts';
import { startYardstick } from './rows/yardstick.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = Number(values.connections);

pinSelf();
const dir = mkdtempSync(join(tmpdir(), 'svault-bench-'));
const stops: Array<() => Promise<void>> = [];
try {
  const bare = await startYardstick('bare Express', await freePort());
  stops.push(bare.stop);
  const bareAgain = await startYardstick('bare Express against itself', await freePort());
  stops.push(bareAgain.stop);
  // The pair's webhook takes part only by receiving audit rows, so it shares the load's core.
  const launcher = { 'control-plane': pinnedTo(SERVER_CORE), webhook: pinnedTo(LOAD_CORE) };
  const pair = await startPair({ dir: join(dir, 'pair'), env: RAISED_LIMITS, launcher });
  stops.push(() => pair.stop());
  // One of its own, so that each face's memory is told apart.
  const mcpPair = await startPair({ dir: join(dir, 'mcp'), env: RAISED_LIMITS, launcher });
  stops.push(() => mcpPair.stop());
  const postgresPair = await startPostgresPair({
    dir: join(dir, 'on-postgres'),
    env: RAISED_LIMITS,
    launcher,
  });
  stops.push(postgresPair.stop);
  const webhookDir = join(dir, 'webhook');
  mkdirSync(webhookDir);
  const webhook = await startWebhookContender(webhookDir, await freePort(), seconds);
  stops.push(webhook.stop);

  const disk = fsyncMs(dir);
  console.log(`bench: ${rounds} rounds of ${seconds} s each, ${connections} connections, one core a server`);
  console.log(`a 4 KiB append reaches this disk in ${disk.toFixed(2)} ms`);
  const starts = await startAndIdleMemory(pair, rounds);
  const contenders = {
    bare: bare.contender,
    bareAgain: bareAgain.contender,
    controlPlane: await controlPlaneContenders(pair),
    mcp: await mcpContenders(mcpPair),
    onPostgres: await controlPlaneContenders(postgresPair.pair, ', PostgreSQL and Redis on the load’s core'),
    webhook: webhook.contender,
  };
  const pids = [
    ...[bare, bareAgain, webhook].map(({ contender }) => contender.pid),
    pidOf(pair, 'control-plane'),
    pidOf(pair, 'webhook'),
    pidOf(mcpPair, 'control-plane'),
    pidOf(mcpPair, 'webhook'),
    pidOf(postgresPair.pair, 'control-plane'),
    pidOf(postgresPair.pair, 'webhook'),
  ];
  const { rows, measured, atHalf } = await rateRows(contenders, { rounds, seconds, connections, pids });
  const all = [...rows, ...starts];
  console.log(`\n${table(all)}`);
  const options = { rounds, seconds, connections };
  const file = writeResults(
    { machine: { ...machine(), fsyncMs: disk }, options, rows: all, measured, atHalf },
    new Date(),
  );
  console.log(`\nwritten to ${file}`);
} finally {
  await Promise.allSettled(stops.map((stop) => stop()));
  rmSync(dir, { recursive: true, force: true });
}
