import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Pair } from '@svault/compose/pair';
import { quantile } from '../load.ts';
import { residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { type RoundOptions, alternate, median, rowOf } from '../rounds.ts';
import { TARGETS } from '../targets.ts';
import { PROXY_PATH, makeProxies } from './bench-proxies.ts';
import { pidOf } from './control-plane.ts';
import { startUpstream } from './yardsticks.ts';

const EVENTS = 1_000;
const EVENTS_PATH = `/events?n=${EVENTS}`;
const MEGABYTE_PATH = '/megabyte';
const MEGABYTES_AT_ONCE = 4;

/** One way to the upstream: past everything, or through both hops. */
interface Way {
  readonly url: string;
  /** For `/events` and `/megabyte` of the upstream. */
  path(upstreamPath: string): string;
  headers(upstreamPath: string): Record<string, string>;
}

/** Measured direct, then through the proxy. */
type Both<T> = readonly [T, T];

interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * What the two hops of the proxy add to one streamed event and to 1 MB, each measured direct and through them in turn. Both
 * programs share the servers' core; the upstream shares the load's.
 */
export async function proxyRows(pair: Pair, { rounds, seconds }: RoundOptions): Promise<readonly Row[]> {
  await using started = new AsyncDisposableStack();
  const upstreamUrl = await startUpstream(started);
  const direct: Way = { url: upstreamUrl, path: (path) => path, headers: () => ({}) };
  const ways = { direct, proxied: await proxiedWay(pair, upstreamUrl) };
  /** Once unmeasured, then of each round what was measured direct and through the proxy. */
  const inBothWays = async <T>(measure: (way: Way) => Promise<T>): Promise<readonly Both<T>[]> => {
    for (const way of Object.values(ways)) await measure(way);
    const [alone, through] = await alternate(rounds, ['direct', 'proxied'], (name) => measure(ways[name]));
    return alone.map((value, round) => [value, through[round] as T]);
  };
  const events = await inBothWays(eventLatencies);
  const megabytes = await inBothWays((way) => megabytesPerSecond(way, seconds));
  return [
    addedMs('streamed event, both hops, added p50', events, 'p50Ms', TARGETS.proxyAddedP50),
    addedMs('streamed event, both hops, added p99', events, 'p99Ms', TARGETS.proxyAddedP99),
    rowOf(
      '1 MB answers through the proxy, against direct',
      TARGETS.proxyMegabytes,
      megabytes.map(([alone, through]) => through / alone),
      `${median(megabytes.map(([, through]) => through)).toFixed(0)} MB/s`,
    ),
    ...(['control-plane', 'webhook'] as const).map((program) => ({
      name: `${program} after proxied load, memory`,
      value: residentMb(pidOf(pair, program)),
      target: TARGETS.memorySaturated,
    })),
  ];
}

async function proxiedWay(pair: Pair, upstreamUrl: string): Promise<Way> {
  const keys = await makeProxies(pair, upstreamUrl, [EVENTS_PATH, MEGABYTE_PATH]);
  return {
    url: pair.controlPlaneUrl,
    path: () => PROXY_PATH,
    headers: (path) => ({ authorization: `Bearer ${keys.get(path)}` }),
  };
}

function addedMs(
  name: string,
  measured: readonly Both<Latencies>[],
  quantileName: keyof Latencies,
  target: Row['target'],
): Row {
  const added = measured.map(([direct, proxied]) => proxied[quantileName] - direct[quantileName]);
  const alone = median(measured.map(([direct]) => direct[quantileName]));
  return rowOf(name, target, added, `direct ${alone.toFixed(2)} ms`);
}

/** From the upstream's write to the client's read, on the clock that all processes of a machine share. */
async function eventLatencies(way: Way): Promise<Latencies> {
  const answer = await get(way, EVENTS_PATH);
  const latencies: number[] = [];
  let rest = '';
  for await (const chunk of answer.setEncoding('latin1')) {
    const nowNs = process.hrtime.bigint();
    const events = (rest + String(chunk)).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) latencies.push(Number(nowNs - BigInt(event.slice('data: '.length))) / 1e6);
  }
  if (latencies.length !== EVENTS) throw new Error(`${latencies.length} of ${EVENTS} events came`);
  latencies.sort((one, other) => one - other);
  return { p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) };
}

async function megabytesPerSecond(way: Way, seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: MEGABYTES_AT_ONCE });
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let bytes = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() < endsAt)
      for await (const chunk of await get(way, MEGABYTE_PATH, agent)) bytes += (chunk as Buffer).length;
  };
  await Promise.all(Array.from({ length: MEGABYTES_AT_ONCE }, ask));
  agent.destroy();
  return bytes / 1e3 / (performance.now() - startedAt);
}

async function get(way: Way, path: string, agent?: Agent): Promise<IncomingMessage> {
  const asked = request(way.url + way.path(path), { headers: way.headers(path), ...(agent && { agent }) });
  const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}`);
  return answer;
}
