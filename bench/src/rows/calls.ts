import { join } from 'node:path';
import type { Pair } from '@svault/compose/pair';
import { runLoad } from '../load.ts';
import type { Row } from '../report.ts';
import { inTurn, requestBytes } from '../requests.ts';
import {
  type Contender,
  type Measured,
  type RoundOptions,
  type RoundResult,
  measure,
  medianOf,
  p99Row,
  ratiosTo,
  rowOf,
  roundsOf,
} from '../rounds.ts';
import { TARGETS, type Target } from '../targets.ts';
import { CALL, PROXY_PATH, makeProxies } from './bench-proxies.ts';
import { pidOf } from './control-plane.ts';
import { createShippingSwitch } from './log-shipping.ts';
import { startMinimalPair, startUpstream } from './yardsticks.ts';

/** As fast as answers come, until what runs is compiled. */
const WARM_UP_SECONDS = 8;
/** What any machine serves, and what svault hardly serves with one core for both programs. */
const RATES = [200, 400] as const;
/** The rate at which the log is shipped as it is written. */
const SHIPPING_RATE = RATES[0];

/**
 * Proxied calls through svault and through the minimal pair, as fast as answers come and at fixed rates. Both programs of either are on
 * the servers' core, the upstream is on the load's. Shipping the log is held back, and measured apart.
 * @param dir the pair's
 */
export async function callRows(
  pair: Pair,
  dir: string,
  options: RoundOptions,
): Promise<{ readonly rows: readonly Row[]; readonly measured: readonly Measured[] }> {
  await using started = new AsyncDisposableStack();
  const upstreamUrl = await startUpstream(started);
  const minimal = await startMinimalPair(join(dir, 'minimal'), upstreamUrl, CALL, started);
  const shipping = started.use(createShippingSwitch(dir));
  const svault = await proxiedCalls(pair, upstreamUrl);
  const direct = requestBytes(upstreamUrl, '/', {}, CALL);
  const pids = [minimal, svault].flatMap(({ pid, otherPids = [] }) => [pid, ...otherPids]);

  const held: Contender = { ...svault, prepare: () => (shipping.hold(), svault.prepare()) };
  const at = (rate: number, contender: Contender): Contender => ({
    ...contender,
    name: `${contender.name} at ${rate}/s`,
    requestsPerSecond: rate,
  });
  const contenders: readonly Contender[] = [
    minimal,
    held,
    ...RATES.flatMap((rate) => [at(rate, minimal), at(rate, held)]),
    {
      ...at(SHIPPING_RATE, svault),
      name: `svault at ${SHIPPING_RATE}/s, log shipped`,
      prepare: () => (shipping.release(), svault.prepare()),
      untilAtRest: true,
    },
    at(RATES[1], {
      name: 'direct',
      url: upstreamUrl,
      pid: svault.pid,
      expectedStatus: 200,
      prepare: () => inTurn([direct]),
    }),
  ];
  for (const each of [minimal, held])
    await runLoad({ ...each, ...options, source: each.prepare(), seconds: WARM_UP_SECONDS });
  const measured = await measure(contenders, pids, options);
  const of = (name: string): readonly RoundResult[] => roundsOf(measured, name);
  const [minimalClosed, svaultClosed] = [of('minimal pair'), of('svault')];
  const perSecond = (rounds: readonly RoundResult[]): string =>
    medianOf(rounds, 'requestsPerSecond').toFixed(0);
  const [atShippingRate, shipped] = [
    `svault at ${SHIPPING_RATE}/s`,
    `svault at ${SHIPPING_RATE}/s, log shipped`,
  ];
  const rows: readonly Row[] = [
    rowOf(
      `proxied calls, ${options.connections} at once, rate to the minimal pair`,
      TARGETS.callRate,
      ratiosTo(minimalClosed, svaultClosed, 'requestsPerSecond'),
      `${perSecond(svaultClosed)}/s against ${perSecond(minimalClosed)}/s`,
    ),
    cpuRow(
      `proxied calls, ${options.connections} at once, CPU to the minimal pair`,
      TARGETS.callCpuClosed,
      minimalClosed,
      svaultClosed,
    ),
    ...RATES.flatMap((rate) => {
      const both = [of(`minimal pair at ${rate}/s`), of(`svault at ${rate}/s`)] as const;
      const states = ['of the minimal pair', 'of svault'] as const;
      return [
        cpuRow(`proxied calls at ${rate}/s, CPU to the minimal pair`, TARGETS.callCpu, ...both),
        p99Row(`proxied calls at ${rate}/s, p99 to the minimal pair`, TARGETS.callP99, both, { states }),
      ];
    }),
    addedRow('p50', TARGETS.proxyAddedP50, of(`direct at ${RATES[1]}/s`), of(`svault at ${RATES[1]}/s`)),
    addedRow('p99', TARGETS.proxyAddedP99, of(`direct at ${RATES[1]}/s`), of(`svault at ${RATES[1]}/s`)),
    cpuRow(
      `shipping the log of proxied calls at ${SHIPPING_RATE}/s, CPU with it to without`,
      TARGETS.cpuOfShipping,
      of(atShippingRate),
      of(shipped),
    ),
    p99Row(
      `shipping the log of proxied calls at ${SHIPPING_RATE}/s, p99 with it to without`,
      TARGETS.p99OfShipping,
      [of(atShippingRate), of(shipped)],
      { states: ['without', 'with'] },
    ),
  ];
  return { rows, measured };
}

/** Calls of a proxy of the pair. */
export async function proxiedCalls(pair: Pair, upstreamUrl: string): Promise<Contender> {
  const url = pair.controlPlaneUrl;
  const key = (await makeProxies(pair, upstreamUrl, ['/'])).get('/');
  const request = requestBytes(url, PROXY_PATH, { authorization: `Bearer ${key}` }, CALL);
  return {
    name: 'svault',
    url,
    pid: pidOf(pair, 'control-plane'),
    otherPids: [pidOf(pair, 'webhook')],
    expectedStatus: 200,
    prepare: () => inTurn([request]),
  };
}

const MICROS_PER_MS = 1_000;

/** CPU time of all processes of one contender over that of a yardstick's. */
function cpuRow(
  name: string,
  target: Target,
  yardstick: readonly RoundResult[],
  rounds: readonly RoundResult[],
): Row {
  // Milliseconds a call are seconds per 1,000 calls.
  const [one, other] = [yardstick, rounds].map((each) =>
    (medianOf(each, 'cpuMicros') / MICROS_PER_MS).toFixed(3),
  );
  const note = `${other} s of CPU per 1,000 calls against ${one} s`;
  return rowOf(name, target, ratiosTo(yardstick, rounds, 'cpuMicros'), note);
}

/** What both hops add to a call at the higher rate. */
function addedRow(
  which: 'p50' | 'p99',
  target: Target,
  direct: readonly RoundResult[],
  through: readonly RoundResult[],
): Row {
  const figure = `${which}Ms` as const;
  const added = through.map((each, round) => each[figure] - (direct[round]?.[figure] ?? Number.NaN));
  const note = `direct ${medianOf(direct, figure).toFixed(2)} ms`;
  return rowOf(`proxied call at ${RATES[1]}/s, both hops, added ${which}`, target, added, note);
}
