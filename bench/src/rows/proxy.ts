import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { storeCredential } from '@svault/compose/admin-client';
import type { Pair } from '@svault/compose/pair';
import { randomToken } from '@svault/shared';
import { quantile, runLoad } from '../load.ts';
import { LOAD_CORE, residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { inTurn, requestBytes } from '../requests.ts';
import { type RoundOptions, alternate, median } from '../rounds.ts';
import { settle, startOwnServer } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { pidOf } from './control-plane.ts';

const PROXY_PATH = '/api/proxy/mcp';
const SERVICE_NAME = 'bench-upstream';
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } };

const CALLS_PER_SECOND = 400;
const CALL_CONNECTIONS = 32;
/** As fast as answers come, until what runs is compiled: 400 a second would take half a minute for it. */
const WARM_UP_SECONDS = 8;
const EVENTS = 1_000;
const MEGABYTES_AT_ONCE = 4;

/** One way to the upstream: past everything, or through both hops. */
interface Way {
  readonly url: string;
  /** For `/`, `/events` and `/megabyte` of the upstream. */
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
 * What the two hops of the proxy add to a call, to one streamed event and to 1 MB, each measured direct and through them in
 * turn. Both programs share the server's core; the upstream shares the load's.
 */
export async function proxyRows(pair: Pair, { rounds, seconds }: RoundOptions): Promise<readonly Row[]> {
  const upstream = await startOwnServer(new URL('../proxy-upstream.ts', import.meta.url), LOAD_CORE);
  try {
    const direct: Way = { url: upstream.url, path: (path) => path, headers: () => ({}) };
    const ways = { direct, proxied: await proxiedWay(pair, upstream.url) };
    /** Once unmeasured, then of each round what was measured direct and through the proxy. */
    const inBothWays = async <T>(measure: (way: Way) => Promise<T>): Promise<readonly Both<T>[]> => {
      for (const way of Object.values(ways)) await measure(way);
      const [alone, through] = await alternate(rounds, ['direct', 'proxied'], (name) => measure(ways[name]));
      return alone.map((value, round) => [value, through[round] as T]);
    };
    const pids = [pidOf(pair, 'control-plane'), pidOf(pair, 'webhook')];
    await load(ways.proxied, WARM_UP_SECONDS);
    const calls = await inBothWays(async (way) => {
      await settle(pids);
      return load(way, seconds, CALLS_PER_SECOND);
    });
    const events = await inBothWays(eventLatencies);
    const megabytes = await inBothWays((way) => megabytesPerSecond(way, seconds));
    return [
      addedMs('proxied call at 400/s, both hops, added p50', calls, 'p50Ms', TARGETS.proxyAddedP50),
      addedMs('proxied call at 400/s, both hops, added p99', calls, 'p99Ms', TARGETS.proxyAddedP99),
      addedMs('streamed event, both hops, added p50', events, 'p50Ms', TARGETS.proxyAddedP50),
      addedMs('streamed event, both hops, added p99', events, 'p99Ms', TARGETS.proxyAddedP99),
      {
        name: '1 MB answers through the proxy, against direct',
        value: median(megabytes.map(([alone, through]) => through / alone)),
        target: TARGETS.proxyMegabytes,
        note: `${median(megabytes.map(([, through]) => through)).toFixed(0)} MB/s`,
      },
      ...(['control-plane', 'webhook'] as const).map((program) => ({
        name: `${program} after proxied load, memory`,
        value: residentMb(pidOf(pair, program)),
        target: TARGETS.memorySaturated,
      })),
    ];
  } finally {
    await upstream.stop();
  }
}

/** One proxy for each path of the upstream, since what an agent asks for cannot choose it. */
async function proxiedWay(pair: Pair, upstreamUrl: string): Promise<Way> {
  await storeCredential(pair.admin, SERVICE_NAME, {
    tokenType: 'PlainText',
    value: randomToken(),
    allowedHosts: [upstreamUrl],
  });
  const keys = new Map<string, string>();
  for (const path of ['/', `/events?n=${EVENTS}`, '/megabyte']) {
    const { key } = await pair.admin.call<{ key: string }>('POST', '/api/proxies', {
      name: `bench ${path}`,
      upstreamUrl: upstreamUrl + path,
      upstreamAuthType: 'Token',
      serviceName: SERVICE_NAME,
    });
    keys.set(path, key);
  }
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
  const value = median(measured.map(([direct, proxied]) => proxied[quantileName] - direct[quantileName]));
  const alone = median(measured.map(([direct]) => direct[quantileName]));
  return { name, value, target, note: `direct ${alone.toFixed(2)} ms` };
}

/** @param requestsPerSecond an even rate; without it, as fast as answers come */
function load(way: Way, seconds: number, requestsPerSecond?: number): Promise<Latencies> {
  const source = inTurn([requestBytes(way.url, way.path('/'), way.headers('/'), CALL)]);
  return runLoad({
    url: way.url,
    source,
    expectedStatus: 200,
    connections: CALL_CONNECTIONS,
    seconds,
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
  });
}

/** From the upstream's write to the client's read, on the clock that all processes of a machine share. */
async function eventLatencies(way: Way): Promise<Latencies> {
  const path = `/events?n=${EVENTS}`;
  const answer = await get(way, path);
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
      for await (const chunk of await get(way, '/megabyte', agent)) bytes += (chunk as Buffer).length;
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
