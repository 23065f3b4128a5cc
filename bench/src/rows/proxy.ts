import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Pair } from '@svault/compose/pair';
import { quantile } from '../load.ts';
import { residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { inTurn, requestBytes } from '../requests.ts';
import {
  type Contender,
  type RoundOptions,
  alternate,
  measure,
  median,
  medianOf,
  ratiosTo,
  rowOf,
  roundsOf,
} from '../rounds.ts';
import { TARGETS } from '../targets.ts';
import { CALL, HTTP_PROXY_PATH, PROXY_PATH, anyFor, makeHttpProxy, makeProxies } from './bench-proxies.ts';
import { proxiedCalls } from './calls.ts';
import { pidOf } from './control-plane.ts';
import { startUpstream } from './yardsticks.ts';

const EVENTS = 1_000;
const EVENTS_PATH = `/events?n=${EVENTS}`;
const MEGABYTE_PATH = '/megabyte';
const MEGABYTES_AT_ONCE = 4;
const DOWNLOAD_PATH = '/download';

/** One way to the upstream: past everything, or through both hops. */
interface Way {
  readonly url: string;
  /** For `/events`, `/megabyte` and `/download` of the upstream. */
  path(upstreamPath: string): string;
  headers(upstreamPath: string): Record<string, string>;
}

/** What was measured in one way, then in the other. */
type Both<T> = readonly [T, T];

interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * What the two hops of the proxy add to one streamed event and to 1 MB, each measured direct and through them in turn; and
 * calls and downloads of an HTTP API against the same ones by a proxy of MCP. Both programs share the servers' core; the
 * upstream shares the load's.
 */
export async function proxyRows(pair: Pair, options: RoundOptions): Promise<readonly Row[]> {
  const { rounds, seconds } = options;
  await using started = new AsyncDisposableStack();
  const upstreamUrl = await startUpstream(started);
  const direct: Way = { url: upstreamUrl, path: (path) => path, headers: () => ({}) };
  const proxied = await proxiedWay(pair, upstreamUrl);
  const httpKey = await makeHttpProxy(pair, upstreamUrl);
  const http: Way = {
    url: pair.controlPlaneUrl,
    path: (path) => HTTP_PROXY_PATH + path,
    headers: () => ({ authorization: `Bearer ${httpKey}` }),
  };
  const ways = { direct, proxied, http };
  /** Runs each way once to warm up. @returns both measurements of each round */
  const inBothWays = async <T>(
    names: Both<keyof typeof ways>,
    measureIn: (way: Way) => Promise<T>,
  ): Promise<readonly Both<T>[]> => {
    for (const name of names) await measureIn(ways[name]);
    const [one, other] = await alternate(rounds, names, (name) => measureIn(ways[name]));
    return one.map((value, round) => [value, other[round] as T]);
  };
  const events = await inBothWays(['direct', 'proxied'], eventLatencies);
  const megabytes = await inBothWays(['direct', 'proxied'], (way) =>
    megabytesPerSecond(way, MEGABYTE_PATH, seconds),
  );
  const downloads = await inBothWays(['proxied', 'http'], (way) =>
    megabytesPerSecond(way, DOWNLOAD_PATH, seconds),
  );
  const calls = await httpCallRows(await proxiedCalls(pair, upstreamUrl), httpKey, options);
  return [
    addedMs('streamed event, both hops, added p50', events, 'p50Ms', TARGETS.proxyAddedP50),
    addedMs('streamed event, both hops, added p99', events, 'p99Ms', TARGETS.proxyAddedP99),
    rowOf(
      '1 MB answers through the proxy, against direct',
      TARGETS.proxyMegabytes,
      megabytes.map(([alone, through]) => through / alone),
      `${median(megabytes.map(([, through]) => through)).toFixed(0)} MB/s`,
    ),
    ...calls,
    rowOf(
      '100 MB by an HTTP proxy, rate to a stream of MCP',
      TARGETS.httpDownload,
      downloads.map(([mcp, ofHttp]) => ofHttp / mcp),
      `${median(downloads.map(([, ofHttp]) => ofHttp)).toFixed(0)} MB/s`,
    ),
    ...(['control-plane', 'webhook'] as const).map((program) => ({
      name: `${program} after proxied load, memory`,
      value: residentMb(pidOf(pair, program)),
      target: TARGETS.memorySaturated,
    })),
  ];
}

async function proxiedWay(pair: Pair, upstreamUrl: string): Promise<Way> {
  const keys = await makeProxies(
    pair,
    upstreamUrl,
    [EVENTS_PATH, MEGABYTE_PATH, DOWNLOAD_PATH],
    anyFor(upstreamUrl, 'bench-streams'),
  );
  return {
    url: pair.controlPlaneUrl,
    path: () => PROXY_PATH,
    headers: (path) => ({ authorization: `Bearer ${keys.get(path)}` }),
  };
}

/** The same call through a proxy of MCP and one of an HTTP API, in turn. */
async function httpCallRows(mcp: Contender, key: string, options: RoundOptions): Promise<readonly Row[]> {
  const request = requestBytes(mcp.url, `${HTTP_PROXY_PATH}/`, { authorization: `Bearer ${key}` }, CALL);
  const http = { ...mcp, name: 'http', prepare: () => inTurn([request]) };
  const measured = await measure([mcp, http], [mcp.pid, ...(mcp.otherPids ?? [])], options);
  const [ofMcp, ofHttp] = [roundsOf(measured, mcp.name), roundsOf(measured, http.name)];
  const figures = [
    ['cpuMicros', 'CPU', 'µs'],
    ['p50Ms', 'p50', 'ms'],
  ] as const;
  return figures.map(([figure, called, unit]) =>
    rowOf(
      `call of an HTTP API, ${called} to a call of MCP`,
      TARGETS.httpCall,
      ratiosTo(ofMcp, ofHttp, figure),
      `${medianOf(ofHttp, figure).toFixed(2)} against ${medianOf(ofMcp, figure).toFixed(2)} ${unit}`,
    ),
  );
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

async function megabytesPerSecond(way: Way, path: string, seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: MEGABYTES_AT_ONCE });
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let bytes = 0;
  const ask = async (): Promise<void> => {
    while (performance.now() < endsAt)
      for await (const chunk of await get(way, path, agent)) bytes += (chunk as Buffer).length;
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
