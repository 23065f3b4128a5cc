import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import type { Pair } from '@svault/compose/pair';
import { type LoadResult, runLoad } from '../load.ts';
import type { Row } from '../report.ts';
import { requestBytes } from '../requests.ts';
import { type RoundOptions, alternate, p99Row } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { controlPlaneContenders, pidOf } from './control-plane.ts';

const STATES = ['without', 'with'] as const;
const IDLE = 5_000;
/** Less than the queue of a server holds. */
const AT_ONCE = 100;
/** What any machine serves with time to spare. */
const REQUESTS_PER_SECOND = 300;

/** For both ends of the idle connections. */
export const DESCRIPTORS = `--nofile=${3 * IDLE}`;
export const manyDescriptors = (command: readonly string[]): readonly [string, ...string[]] => [
  'prlimit',
  DESCRIPTORS,
  ...command,
];

/** What 5,000 idle connections cost the requests of others: p99 with them over p99 without. */
export async function idleConnectionRows(pair: Pair, options: RoundOptions): Promise<readonly Row[]> {
  execFileSync('prlimit', [`--pid=${process.pid}`, DESCRIPTORS]);
  const { credentials } = await controlPlaneContenders(pair);
  const load = async (): Promise<LoadResult> => {
    const source = credentials.prepare();
    await settle([pidOf(pair, 'control-plane'), pidOf(pair, 'webhook')]);
    return runLoad({ ...credentials, ...options, source, requestsPerSecond: REQUESTS_PER_SECOND });
  };
  await load();
  const results = await alternate(options.rounds, STATES, async (state) => {
    if (state === 'without') return load();
    const idle = await openIdle(credentials.url);
    const among = await load();
    if (idle.some(({ destroyed }) => destroyed)) throw new Error('not all connections stayed idle');
    for (const socket of idle) socket.destroy();
    return among;
  });
  const name = `credentials, p99 among ${IDLE} idle connections`;
  const note = `, at ${REQUESTS_PER_SECOND}/s`;
  return [p99Row(name, TARGETS.p99AmongIdle, results, { states: STATES, note })];
}

/** Connections that were answered once and are kept. */
async function openIdle(url: string): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(url);
  const idle: Socket[] = [];
  const open = async (): Promise<void> => {
    const socket = connect(Number(port), hostname);
    socket.write(requestBytes(url, '/healthz'));
    await once(socket, 'data');
    socket.resume().on('error', () => undefined);
    idle.push(socket);
  };
  while (idle.length < IDLE) await Promise.all(Array.from({ length: AT_ONCE }, open));
  return idle;
}
