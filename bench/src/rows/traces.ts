import { join } from 'node:path';
import { type PairOptions, startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { runLoad } from '../load.ts';
import type { Row } from '../report.ts';
import {
  type Contender,
  type RoundOptions,
  measure,
  medianOf,
  ratiosTo,
  rowOf,
  roundsOf,
} from '../rounds.ts';
import { TARGETS } from '../targets.ts';
import { proxiedCalls } from './calls.ts';
import { createShippingSwitch } from './log-shipping.ts';
import { startUpstream } from './yardsticks.ts';

const WARM_UP_SECONDS = 8;
const [OFF, ON] = ['without traces', 'a tenth traced'] as const;

/**
 * Proxied calls through a pair that traces a tenth of them, and through one that traces nothing. The upstream is also the
 * collector. Shipping the log is held back.
 */
export async function traceRows(
  dir: string,
  launcher: NonNullable<PairOptions['launcher']>,
  options: RoundOptions,
): Promise<readonly Row[]> {
  await using started = new AsyncDisposableStack();
  const upstreamUrl = await startUpstream(started);
  const contender = async (name: string, env: Readonly<Record<string, string>>): Promise<Contender> => {
    const place = join(dir, name);
    const pair = await startPair({ dir: place, env: { ...RAISED_LIMITS, ...env }, launcher });
    started.defer(() => pair.stop());
    const shipping = started.use(createShippingSwitch(place));
    const calls = await proxiedCalls(pair, upstreamUrl);
    return { ...calls, name, prepare: () => (shipping.hold(), calls.prepare()) };
  };
  const contenders = [
    await contender(OFF, {}),
    await contender(ON, {
      OTEL_EXPORTER_OTLP_ENDPOINT: upstreamUrl,
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    }),
  ];
  for (const each of contenders)
    await runLoad({ ...each, ...options, source: each.prepare(), seconds: WARM_UP_SECONDS });
  const pids = contenders.flatMap(({ pid, otherPids = [] }) => [pid, ...otherPids]);
  const measured = await measure(contenders, pids, options);
  const [off, on] = [roundsOf(measured, OFF), roundsOf(measured, ON)];
  const note = `${medianOf(on, 'cpuMicros').toFixed(0)} µs a call against ${medianOf(off, 'cpuMicros').toFixed(0)} µs`;
  return [
    rowOf(
      'proxied calls of which a tenth is traced, CPU to those of none',
      TARGETS.cpuOfTraces,
      ratiosTo(off, on, 'cpuMicros'),
      note,
    ),
  ];
}
