import { join } from 'node:path';
import { type Pair, startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { startPostgres } from '@svault/test-kit/postgres-server';
import { NO_REDIS, REDIS_PROGRAM, startRedis } from '@svault/test-kit/redis-server';
import { LOAD_CORE, pinnedTo, SERVER_CORE } from '../machine.ts';
import type { Row } from '../report.ts';
import {
  type Contender,
  type Measured,
  type RoundOptions,
  measure,
  median,
  medianOf,
  ratiosTo,
  rowOf,
  roundsOf,
} from '../rounds.ts';
import { TARGETS, type Target } from '../targets.ts';
import { controlPlaneContenders, pidOf } from './control-plane.ts';
import { watchMemory } from './fetch.ts';
import { mcpContenders } from './mcp.ts';
import { startBareExpress } from './yardsticks.ts';

/**
 * Rates as ratios to bare Express, then the memory of MCP at saturation. Every server is started first, the yardsticks before the
 * others.
 * @param dir where they keep their files
 */
export async function rateRows(
  dir: string,
  options: RoundOptions,
): Promise<{ readonly rows: readonly Row[]; readonly measured: readonly Measured[] }> {
  await using started = new AsyncDisposableStack();
  const bare = await startBareExpress('bare Express', started);
  const bareAgain = await startBareExpress('bare Express against itself', started);
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
  const postgresPair = await startPairIn('on-postgres', (await startDatabases(started)).env);

  const controlPlane = await controlPlaneContenders(pair);
  const mcp = await mcpContenders(mcpPair);
  const onPostgres = await controlPlaneContenders(postgresPair, ', PostgreSQL and Redis on the load’s core');
  const toolsCall = watchMemory(mcp.toolsCall);
  const plan: ReadonlyArray<readonly [Contender, Target]> = [
    [bareAgain, TARGETS.yardstick],
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
  ];
  const contenders = plan.map(([contender]) => contender);
  const pids = [
    ...[bare, bareAgain].map(({ pid }) => pid),
    ...[pair, mcpPair, postgresPair].flatMap((each) => [
      pidOf(each, 'control-plane'),
      pidOf(each, 'webhook'),
    ]),
  ];
  const measured = await measure([bare, ...contenders], pids, options);
  const ofBare = roundsOf(measured, bare.name);
  const rates = plan.map(([{ name }, target]): Row => {
    const rounds = roundsOf(measured, name);
    const byCpu = median(ratiosTo(rounds, ofBare, 'cpuMicros'));
    const [perSecond, micros] = (['requestsPerSecond', 'cpuMicros'] as const).map((figure) =>
      medianOf(rounds, figure).toFixed(0),
    );
    const note = `${perSecond}/s; by CPU ${byCpu.toFixed(3)}, ${micros} µs each`;
    return rowOf(name, target, ratiosTo(ofBare, rounds, 'requestsPerSecond'), note);
  });
  const memory: Row = {
    name: 'control-plane under tools/call, memory at saturation',
    value: toolsCall.maxMb(),
    target: TARGETS.memorySaturated,
  };
  return { rows: [...rates, memory], measured };
}

/**
 * PostgreSQL, whose commits reach the disk, and Redis. Both run where this process does: on the load's core, so that the
 * server's has the control plane alone.
 * @returns the settings of a control plane with its state there, PostgreSQL's address and first process, and Redis's process
 */
export async function startDatabases(started: AsyncDisposableStack) {
  if (REDIS_PROGRAM === undefined) throw new Error(`the row of PostgreSQL and Redis ${NO_REDIS}`);
  const postgres = await startPostgres({ durable: true });
  started.defer(postgres.remove);
  const redis = await startRedis();
  started.defer(redis.kill);
  return {
    env: { SV_DATABASE_URL: postgres.url, SV_REDIS_URL: redis.url },
    url: postgres.url,
    postgresPid: postgres.pid(),
    redisPid: redis.pid(),
  };
}
