import { runLoad, type LoadResult } from '../load.ts';
import { residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { measure, type Contender, type Measured, type RoundOptions } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS, type Target } from '../targets.ts';
import type { ControlPlaneContenders } from './control-plane.ts';
import type { McpContenders } from './mcp.ts';

export interface Rates {
  readonly rows: readonly Row[];
  /** Of bare Express, then of each contender. */
  readonly measured: readonly Measured[];
  readonly atHalf: LoadResult;
}

const CONNECTIONS_FACTOR_WHEN_PACED = 8;

export interface RateContenders {
  readonly bare: Contender;
  readonly bareAgain: Contender;
  readonly controlPlane: ControlPlaneContenders;
  readonly mcp: McpContenders;
  readonly onPostgres: ControlPlaneContenders;
  readonly webhook: Contender;
}

/** Rates as ratios to bare Express, then what follows from them: latency at half of saturation, memory at it. */
export async function rateRows(contenders: RateContenders, options: RoundOptions): Promise<Rates> {
  const { bare, bareAgain, controlPlane, mcp, onPostgres } = contenders;
  const credentials = watchMemory(controlPlane.credentials);
  const toolsCall = watchMemory(mcp.toolsCall);
  const webhook = watchMemory(contenders.webhook);
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
  const measured = await measure(
    bare,
    plan.map(([contender]) => contender),
    options,
  );
  const rates = plan.map(([contender, target]): Row => {
    const { ratio, requestsPerSecond, cpuMicros, cpuRatio } = resultOf(measured, contender);
    const note = `${requestsPerSecond.toFixed(0)}/s; by CPU ${cpuRatio.toFixed(3)}, ${cpuMicros.toFixed(0)} µs each`;
    return { name: contender.name, value: ratio, target, note };
  });
  const saturation = resultOf(measured, credentials.contender).requestsPerSecond;
  const atHalf = await runAtHalf(credentials.contender, saturation, options);
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

async function runAtHalf(
  contender: Contender,
  saturation: number,
  options: RoundOptions,
): Promise<LoadResult> {
  const source = contender.prepare();
  await settle(options.pids);
  const { url, expectedStatus } = contender;
  // Enough that a slow answer delays no request that is due.
  const connections = options.connections * CONNECTIONS_FACTOR_WHEN_PACED;
  const seconds = options.seconds * options.rounds;
  return runLoad({ url, source, expectedStatus, connections, seconds, requestsPerSecond: saturation / 2 });
}
