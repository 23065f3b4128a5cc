import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Pair, startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { startPostgres } from '@svault/test-kit/postgres-server';
import { NO_REDIS, REDIS_PROGRAM, startRedis } from '@svault/test-kit/redis-server';
import { type LoadResult, runLoad } from '../load.ts';
import { LOAD_CORE, pinnedTo, residentMb, SERVER_CORE } from '../machine.ts';
import type { Row } from '../report.ts';
import { inTurn, requestBytes } from '../requests.ts';
import { type Contender, type Measured, type RoundOptions, measure } from '../rounds.ts';
import { settle, startOwnServer } from '../server-process.ts';
import { TARGETS, type Target } from '../targets.ts';
import { controlPlaneContenders, pidOf } from './control-plane.ts';
import { mcpContenders } from './mcp.ts';
import { startWebhookContender } from './webhook-credential.ts';

const CONNECTIONS_FACTOR_WHEN_PACED = 8;

interface Rates {
  readonly rows: readonly Row[];
  /** Of bare Express, then of each contender. */
  readonly measured: readonly Measured[];
  readonly atHalf: LoadResult;
}

/**
 * Rates as ratios to bare Express, then what follows from them: latency at half of saturation, memory at it. Every server
 * is started first, the yardsticks before the others.
 * @param dir where they keep their files
 */
export async function rateRows(dir: string, options: RoundOptions): Promise<Rates> {
  await using started = new AsyncDisposableStack();
  const bare = await startYardstick('bare Express', started);
  const bareAgain = await startYardstick('bare Express against itself', started);
  // The pair's webhook takes part only by receiving audit rows, so it shares the load's core.
  const launcher = { 'control-plane': pinnedTo(SERVER_CORE), webhook: pinnedTo(LOAD_CORE) };
  const startPairIn = async (name: string, more: Readonly<Record<string, string>> = {}): Promise<Pair> =>
    started.adopt(
      await startPair({ dir: join(dir, name), env: { ...RAISED_LIMITS, ...more }, launcher }),
      (pair) => pair.stop(),
    );
  const pair = await startPairIn('pair');
  // A separate process, so that the memory of each API is measured apart.
  const mcpPair = await startPairIn('mcp');
  const postgresPair = await startPairIn('on-postgres', await startDatabases(started));
  const webhookDir = join(dir, 'webhook');
  mkdirSync(webhookDir);
  const ofWebhook = await startWebhookContender(webhookDir, options.seconds);
  started.defer(ofWebhook.stop);

  const controlPlane = await controlPlaneContenders(pair);
  const mcp = await mcpContenders(mcpPair);
  const onPostgres = await controlPlaneContenders(postgresPair, ', PostgreSQL and Redis on the load’s core');
  const credentials = watchMemory(controlPlane.credentials);
  const toolsCall = watchMemory(mcp.toolsCall);
  const webhook = watchMemory(ofWebhook.contender);
  const plan: ReadonlyArray<readonly [Contender, Target]> = [
    [bareAgain, TARGETS.yardstick],
    [credentials.contender, TARGETS.credentials],
    [onPostgres.credentials, TARGETS.credentialsOnPostgres],
    [controlPlane.underPolicies, TARGETS.credentials],
    [controlPlane.list, TARGETS.list],
    [controlPlane.missingKey, TARGETS.refusal],
    [controlPlane.wrongKey, TARGETS.refusal],
    [controlPlane.noGrant, TARGETS.refusal],
    [controlPlane.rateLimited, TARGETS.refusal],
    [toolsCall.contender, TARGETS.toolsCall],
    [mcp.toolsCall2026, TARGETS.toolsCall],
    [mcp.missingToken, TARGETS.refusal],
    [webhook.contender, TARGETS.webhookCredential],
  ];
  const contenders = plan.map(([contender]) => contender);
  const pids = [
    ...[bare, bareAgain, ofWebhook.contender].map(({ pid }) => pid),
    ...[pair, mcpPair, postgresPair].flatMap((each) => [
      pidOf(each, 'control-plane'),
      pidOf(each, 'webhook'),
    ]),
  ];
  const measured = await measure(bare, contenders, pids, options);
  const rates = plan.map(([contender, target]): Row => {
    const { ratio, requestsPerSecond, cpuMicros, cpuRatio } = resultOf(measured, contender);
    const note = `${requestsPerSecond.toFixed(0)}/s; by CPU ${cpuRatio.toFixed(3)}, ${cpuMicros.toFixed(0)} µs each`;
    return { name: contender.name, value: ratio, target, note };
  });

  const source = credentials.contender.prepare();
  await settle(pids);
  const atHalf = await runLoad({
    ...credentials.contender,
    source,
    // Enough that a slow answer delays no request that is due.
    connections: options.connections * CONNECTIONS_FACTOR_WHEN_PACED,
    seconds: options.seconds * options.rounds,
    requestsPerSecond: resultOf(measured, credentials.contender).requestsPerSecond / 2,
  });
  const latency: Row = {
    name: 'credentials, p99 at half of saturation',
    value: atHalf.p99Ms,
    target: TARGETS.p99AtHalf,
    note: `p50 ${atHalf.p50Ms.toFixed(2)} ms at ${atHalf.requestsPerSecond.toFixed(0)}/s`,
  };
  const memory = (name: string, value: number): Row => ({ name, value, target: TARGETS.memorySaturated });
  return {
    rows: [
      ...rates,
      latency,
      memory('control-plane, memory at saturation', credentials.maxMb()),
      memory('control-plane under tools/call, memory at saturation', toolsCall.maxMb()),
      memory('webhook, memory at saturation', webhook.maxMb()),
    ],
    measured,
    atHalf,
  };
}

/** A bare Express server to measure against. */
async function startYardstick(name: string, started: AsyncDisposableStack): Promise<Contender> {
  const { url, pid, stop } = await startOwnServer(
    new URL('../bare-express.ts', import.meta.url),
    SERVER_CORE,
  );
  started.defer(stop);
  return { name, url, pid, expectedStatus: 200, prepare: () => inTurn([requestBytes(url, '/')]) };
}

/**
 * PostgreSQL, whose commits reach the disk, and Redis. Both run where this process does: on the load's core, so that the
 * server's has the control plane alone.
 * @returns the settings of a control plane with its state there
 */
async function startDatabases(started: AsyncDisposableStack) {
  if (REDIS_PROGRAM === undefined) throw new Error(`the row of PostgreSQL and Redis ${NO_REDIS}`);
  const postgres = await startPostgres({ durable: true });
  started.defer(postgres.remove);
  const redis = await startRedis();
  started.defer(redis.kill);
  return { SV_DATABASE_URL: postgres.url, SV_REDIS_URL: redis.url };
}

function resultOf(measured: readonly Measured[], { name }: Contender): Measured {
  const result = measured.find((each) => each.name === name);
  if (result === undefined) throw new Error(`${name} was not measured`);
  return result;
}

function watchMemory(contender: Contender): { contender: Contender; maxMb: () => number } {
  let maxMb = 0;
  const afterRun = (): void => {
    maxMb = Math.max(maxMb, residentMb(contender.pid));
  };
  return { contender: { ...contender, afterRun }, maxMb: () => maxMb };
}
