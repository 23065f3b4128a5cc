import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import type { Pair } from '@svault/compose/pair';
import { type LoadResult, runLoad } from '../load.ts';
import { residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { requestBytes } from '../requests.ts';
import { type RoundOptions, alternate, p99Row, rowOf } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { PROXY_PATH, makeProxies } from './bench-proxies.ts';
import { controlPlaneContenders, pidOf } from './control-plane.ts';
import { DESCRIPTORS } from './idle-connections.ts';
import { startUpstream } from './yardsticks.ts';

const STATES = ['without', 'with'] as const;
/** As many as a proxy may have open, and nearly as many as an account may. */
const STREAMS_PER_PROXY = 64;
const PROXIES = 63;
const STREAMS = STREAMS_PER_PROXY * PROXIES;
const REQUESTS_PER_SECOND = 100;
const PROGRAMS = ['control-plane', 'webhook'] as const;
const KB_PER_MB = 1_000;

/** What standing event streams through both hops, on which nothing happens, cost: the memory of each, and p99 of others' requests. */
export async function idleStreamRows(pair: Pair, options: RoundOptions): Promise<readonly Row[]> {
  execFileSync('prlimit', [`--pid=${process.pid}`, DESCRIPTORS]);
  await using started = new AsyncDisposableStack();
  const upstreamUrl = await startUpstream(started);
  const paths = Array.from({ length: PROXIES }, (_, index) => `/standing?proxy=${index}`);
  const keys = await makeProxies(pair, upstreamUrl, paths);
  const { credentials } = await controlPlaneContenders(pair);
  const pids = PROGRAMS.map((program) => pidOf(pair, program));
  const load = async (): Promise<LoadResult> => {
    await settle(pids);
    const source = credentials.prepare();
    return runLoad({ ...credentials, ...options, source, requestsPerSecond: REQUESTS_PER_SECOND });
  };
  const perStreamKb: number[] = [];
  await load();
  const results = await alternate(options.rounds, STATES, async (state) => {
    if (state === 'without') return load();
    const resident = (): number => pids.reduce((sum, pid) => sum + residentMb(pid), 0);
    const before = resident();
    const streams = await openStreams(credentials.url, [...keys.values()]);
    const among = await load();
    perStreamKb.push(((resident() - before) * KB_PER_MB) / STREAMS);
    if (streams.some(({ destroyed }) => destroyed)) throw new Error('not all streams stayed open');
    for (const stream of streams) stream.destroy();
    return among;
  });
  const note = `, at ${REQUESTS_PER_SECOND}/s`;
  return [
    p99Row(`credentials, p99 among ${STREAMS} idle MCP streams`, TARGETS.p99AmongIdle, results, {
      states: STATES,
      note,
    }),
    rowOf(`an idle MCP stream of ${STREAMS}, memory of both programs`, TARGETS.memoryOfStream, perStreamKb),
  ];
}

async function openStreams(url: string, keys: readonly string[]): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(url);
  const streams: Socket[] = [];
  const open = async (key: string): Promise<void> => {
    const socket = connect(Number(port), hostname);
    const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
    socket.write(requestBytes(url, PROXY_PATH, headers));
    const [head] = (await once(socket, 'data')) as [Buffer];
    if (!head.toString('latin1').startsWith('HTTP/1.1 200'))
      throw new Error(`a stream was answered ${head.toString('latin1').slice(0, 300)}`);
    socket.resume().on('error', () => undefined);
    streams.push(socket);
  };
  for (let each = 0; each < STREAMS_PER_PROXY; each++) await Promise.all(keys.map(open));
  return streams;
}
