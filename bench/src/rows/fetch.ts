import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { storeCredential } from '@svault/compose/admin-client';
import type { Pair } from '@svault/compose/pair';
import { randomToken } from '@svault/shared';
import { residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
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
import { SERVICE } from './bench-agents.ts';
import { controlPlaneContenders, pidOf } from './control-plane.ts';
import { createShippingSwitch } from './log-shipping.ts';
import { startWebhookContender } from './webhook-credential.ts';
import { startBareExpress } from './yardsticks.ts';

const REQUESTS_PER_SECOND = 2_000;
/** So that a slow answer delays no request that is due. */
const CONNECTIONS_FACTOR_AT_RATES = 8;
/**
 * CPU time of reading a secret of OpenBao 2.6 (KV, raft, audit device of a file) over that of a request of bare Express, as it was
 * recorded in one run: 0.886 s and 0.053 s per 1,000. No OpenBao takes part in a run.
 */
const OPENBAO_READ_TO_BARE_EXPRESS = 0.886 / 0.053;

const BARE = 'bare Express';
const REDIRECT = '307 with durable audit';
const WEBHOOK = 'webhook /v1/credential, single use durable';
const WHOLE = 'whole fetch';
const atRate = (name: string): string => `${name} at ${REQUESTS_PER_SECOND}/s`;

/**
 * A fetch: the 307, the credential at the webhook, and both together, against bare Express in the same rounds. All servers are on
 * one core. Shipping the log is held back, and measured apart.
 * @param dir the pair's
 */
export async function fetchRows(
  pair: Pair,
  dir: string,
  options: RoundOptions,
): Promise<{ readonly rows: readonly Row[]; readonly measured: readonly Measured[] }> {
  await using started = new AsyncDisposableStack();
  const bare = await startBareExpress(BARE, started);
  const webhookDir = join(dir, 'webhook-alone');
  mkdirSync(webhookDir);
  const webhook = await startWebhookContender(webhookDir, options.seconds);
  started.defer(webhook.stop);
  const shipping = started.use(createShippingSwitch(dir));
  await storeCredential(pair.admin, SERVICE, { tokenType: 'PlainText', value: randomToken() });
  const { credentials } = await controlPlaneContenders(pair);
  const own = [pidOf(pair, 'control-plane'), pidOf(pair, 'webhook')];
  const pids = [bare.pid, webhook.contender.pid, ...own];

  const redirect = watchMemory({
    ...credentials,
    name: REDIRECT,
    prepare: () => (shipping.hold(), credentials.prepare()),
  });
  const credential = watchMemory({ ...webhook.contender, name: WEBHOOK });
  const whole: Contender = {
    ...redirect.contender,
    name: WHOLE,
    otherPids: own.slice(1),
    redirectsTo: { url: pair.webhookUrl, expectedStatus: 200 },
  };
  const connections = options.connections * CONNECTIONS_FACTOR_AT_RATES;
  const paced = (contender: Contender): Contender => ({
    ...contender,
    name: atRate(contender.name),
    requestsPerSecond: REQUESTS_PER_SECOND,
    connections,
  });
  const shipped = atRate(`${REDIRECT}, log shipped`);
  const measured = await measure(
    [
      bare,
      redirect.contender,
      credential.contender,
      whole,
      paced(bare),
      paced(redirect.contender),
      {
        ...paced(credentials),
        name: shipped,
        prepare: () => (shipping.release(), credentials.prepare()),
      },
    ],
    pids,
    options,
  );
  const of = (name: string): readonly RoundResult[] => roundsOf(measured, name);
  const half: Contender = {
    ...redirect.contender,
    name: `${REDIRECT} at half of saturation`,
    requestsPerSecond: medianOf(of(REDIRECT), 'requestsPerSecond') / 2,
    connections,
  };
  const [atHalf] = await measure([half], pids, options);
  if (atHalf === undefined) throw new Error('nothing was measured');
  const memory = (name: string, value: number): Row => ({ name, value, target: TARGETS.memorySaturated });
  const byCpu = (name: string, target: Target): Row => {
    const rounds = of(name);
    const rate = rowOf('', target, ratiosTo(of(BARE), rounds, 'requestsPerSecond')).value;
    const note = `${medianOf(rounds, 'requestsPerSecond').toFixed(0)}/s; by rate ${rate.toFixed(3)}, ${medianOf(rounds, 'cpuMicros').toFixed(0)} µs each`;
    return rowOf(`${name}, to bare Express by CPU`, target, ratiosTo(rounds, of(BARE), 'cpuMicros'), note);
  };
  const rows: readonly Row[] = [
    byCpu(REDIRECT, TARGETS.redirect),
    byCpu(WEBHOOK, TARGETS.webhookCredential),
    rowOf(
      'whole fetch, CPU to a read of OpenBao as recorded',
      TARGETS.wholeFetch,
      ratiosTo(of(BARE), of(WHOLE), 'cpuMicros').map((ratio) => ratio / OPENBAO_READ_TO_BARE_EXPRESS),
      `${(medianOf(of(WHOLE), 'cpuMicros') / 1_000).toFixed(3)} s of CPU per 1,000 fetches`,
    ),
    p99Row(
      `${atRate(REDIRECT)}, p99 to bare Express at the same rate`,
      TARGETS.p99At2000,
      [of(atRate(BARE)), of(atRate(REDIRECT))],
      { states: ['of bare Express', 'of svault'] },
    ),
    p99Row(
      `shipping the log of ${REQUESTS_PER_SECOND} fetches/s, p99 of the 307 with it to without`,
      TARGETS.p99OfShipping,
      [of(atRate(REDIRECT)), of(shipped)],
      { states: ['without', 'with'] },
    ),
    rowOf(
      'credentials, p99 at half of saturation',
      TARGETS.p99AtHalf,
      atHalf.rounds.map(({ p99Ms }) => p99Ms),
      `p50 ${medianOf(atHalf.rounds, 'p50Ms').toFixed(2)} ms at ${medianOf(atHalf.rounds, 'requestsPerSecond').toFixed(0)}/s`,
    ),
    memory('control-plane, memory at saturation', redirect.maxMb()),
    memory('webhook, memory at saturation', credential.maxMb()),
  ];
  return { rows, measured: [...measured, atHalf] };
}

/** Notes the most memory after a run. */
export function watchMemory(contender: Contender): { contender: Contender; maxMb: () => number } {
  let maxMb = 0;
  const afterRun = (): void => {
    maxMb = Math.max(maxMb, residentMb(contender.pid));
  };
  return { contender: { ...contender, afterRun }, maxMb: () => maxMb };
}
