import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pair } from '@svault/compose/pair';
import { type LoadResult, runLoad } from '../load.ts';
import { cpuSeconds } from '../machine.ts';
import type { Row } from '../report.ts';
import { type RoundOptions, alternate, median, p99Row } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { controlPlaneContenders, pidOf } from './control-plane.ts';

const STATES = ['alone', 'watched'] as const;
const CONSOLES = 100;
/** Six times the events that a stream is promised to take without a loss, 1,000 a minute. */
const REQUESTS_PER_SECOND = 100;
/** What an open console reads again, and how often. */
const READ_AGAIN = [
  ...['/api/overview', '/api/overview/series', '/api/overview/agents'],
  ...['/api/attention', '/api/setup'],
];
const READ_AGAIN_MS = 30_000;

/** What 100 consoles that show an account cost its agents: p99 and CPU time with them over those without. No stream may lose an event. */
export async function watchingConsoleRows(pair: Pair, options: RoundOptions): Promise<readonly Row[]> {
  const { credentials } = await controlPlaneContenders(pair);
  const load = async (): Promise<LoadResult & { readonly cpuMicros: number }> => {
    const source = credentials.prepare();
    const before = cpuSeconds(credentials.pid);
    const result = await runLoad({
      ...{ ...credentials, ...options, source },
      requestsPerSecond: REQUESTS_PER_SECOND,
    });
    return { ...result, cpuMicros: ((cpuSeconds(credentials.pid) - before) * 1e6) / result.answered };
  };
  const calm = () => settle([pidOf(pair, 'control-plane'), pidOf(pair, 'webhook')]);
  await load();
  const results = await alternate(options.rounds, STATES, async (state) => {
    await calm();
    if (state === 'alone') return load();
    const streams = await openStreams(pair);
    const going = new AbortController();
    const reading = readAgain(pair, going.signal);
    const watched = await load();
    going.abort();
    await reading;
    await streams.mustHaveAllUpTo(await headOf(pair));
    return watched;
  });
  const [alone = NaN, watched = NaN] = results.map((rounds) =>
    median(rounds.map(({ cpuMicros }) => cpuMicros)),
  );
  const where = `with ${CONSOLES} consoles watching`;
  const note = `, at ${REQUESTS_PER_SECOND}/s`;
  return [
    p99Row(`credentials, p99 ${where}`, TARGETS.p99Watched, results, { states: STATES, note }),
    {
      name: `credentials, CPU time ${where}`,
      value: watched / alone,
      target: TARGETS.cpuWatched,
      note: `${alone.toFixed(0)} µs of the control plane for a request alone, ${watched.toFixed(0)} µs watched${note}`,
    },
  ];
}

const headersOf = ({ adminKey }: Pair) => ({ authorization: `Bearer ${adminKey}` });

async function headOf(pair: Pair): Promise<number> {
  const { items } = await pair.admin.call<{ items: readonly { seq: number }[] }>('GET', '/api/audit?limit=1');
  return items[0]?.seq ?? 0;
}

/** The consoles' streams, in a process of their own. */
async function openStreams(pair: Pair) {
  const { authorization } = headersOf(pair);
  const readers = fork(new URL('../event-readers.ts', import.meta.url), [
    ...[`${pair.controlPlaneUrl}/api/events`, authorization, String(CONSOLES)],
  ]);
  const ended = once(readers, 'exit').then(([code]) => {
    throw new Error(`the readers of events ended with ${code}`);
  });
  ended.catch(() => undefined);
  const said = (): Promise<unknown> => Promise.race([once(readers, 'message'), ended]);
  await said();
  return {
    /** Closes them. @throws Error where one has lost an event; the reader says which */
    mustHaveAllUpTo: async (head: number): Promise<void> => {
      const answered = said();
      readers.send(head);
      await answered;
    },
  };
}

/** Each console on its own, so that the reads are spread evenly. */
async function readAgain(pair: Pair, signal: AbortSignal): Promise<void> {
  const pauseMs = READ_AGAIN_MS / (CONSOLES * READ_AGAIN.length);
  const running: Promise<unknown>[] = [];
  for (let next = 0; !signal.aborted; next++) {
    running.push(pair.admin.call('GET', READ_AGAIN[next % READ_AGAIN.length] ?? ''));
    await delay(pauseMs);
  }
  await Promise.all(running);
}
