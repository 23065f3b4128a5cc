import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { storeCredential } from '@svault/compose/admin-client';
import type { Pair } from '@svault/compose/pair';
import { randomToken } from '@svault/shared';
import { type LoadResult, runLoad } from '../load.ts';
import { cpuSecondsOf, residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { inTurn, requestBytes } from '../requests.ts';
import { TARGETS } from '../targets.ts';
import { SERVICE, makeAgents } from './bench-agents.ts';
import { CALL, PROXY_PATH, makeProxies } from './bench-proxies.ts';
import { pidOf } from './control-plane.ts';
import { startUpstream } from './yardsticks.ts';

/** For both programs. */
export const SOAK_ENV = {
  NODE_OPTIONS: `--expose-gc --import ${new URL('../collect-on-signal.mjs', import.meta.url).href}`,
  SV_TRUSTED_PROXIES: '127.0.0.1',
};

const PROGRAMS = ['control-plane', 'webhook'] as const;
const SECONDS_OF_EACH = 22;
/** Not counted: a collection drops compiled code, too, and the first calls after it show nothing but that. */
const WARM_UP_SECONDS = 3;
/** With the fetches before it, longer than an idle connection to the webhook (30 s) or to an upstream (4 s) is kept. */
const REST_MS = 8_000;
/** The second gives back what the first only made free: up to 5 MB. */
const COLLECTIONS = 2;
/** The least in this time counts: a job of the program that follows a collection leaves up to 3 MB to the next one. */
const COLLECTION_MS = 1_500;
const COLLECTION_POLL_MS = 20;
const NEW_AGENTS = 20;
const ADDRESSES = 200;
/** Of the core that both programs share. */
const LOAD = 1 / 2;
/** So few that the costs of a request are those of one that comes alone; more at once cost less each. */
const CALIBRATION_PER_SECOND = 200;
/** Until code is compiled and caches are as full as they get. */
const WARM_UP_SHARE = 1 / 3;

interface Minute {
  readonly residentMb: readonly number[];
  readonly descriptors: readonly number[];
  readonly p99Ms: readonly number[];
}

/**
 * Fetches and proxied calls at half of the CPU time of the servers' core, with new agents and new client addresses each minute:
 * whether memory, descriptors and latency stay as they are (reliability R30).
 */
export async function soakRows(pair: Pair, minutes: number, connections: number): Promise<readonly Row[]> {
  await using started = new AsyncDisposableStack();
  const upstreamUrl = await startUpstream(started);
  await storeCredential(pair.admin, SERVICE, { tokenType: 'PlainText', value: randomToken() });
  const [proxyKey = ''] = (await makeProxies(pair, upstreamUrl, ['/'])).values();
  const pids = PROGRAMS.map((program) => pidOf(pair, program));
  const url = pair.controlPlaneUrl;
  let turn = 0;
  /** As behind a reverse proxy: each of a minute's addresses is another one than before. */
  const from = (headers: Readonly<Record<string, string>>) => {
    turn += 1;
    return { ...headers, 'x-forwarded-for': `10.${(turn >> 16) & 255}.${(turn >> 8) & 255}.${turn & 255}` };
  };
  const requests = (path: string, headers: Readonly<Record<string, string>>, body?: object) =>
    Array.from({ length: ADDRESSES }, () => requestBytes(url, path, from(headers), body));
  const fetches = (
    keys: readonly string[],
    perSecond?: number,
    seconds = SECONDS_OF_EACH,
  ): Promise<LoadResult> =>
    runLoad({
      ...{ url, expectedStatus: 307, connections, seconds },
      redirectsTo: { url: pair.webhookUrl, expectedStatus: 200 },
      source: inTurn(
        keys.flatMap((key) =>
          requests(`/api/agents/credentials?service=${SERVICE}`, { authorization: `Bearer ${key}` }),
        ),
      ),
      ...(perSecond !== undefined && { requestsPerSecond: perSecond }),
    });
  const calls = (perSecond?: number, seconds = SECONDS_OF_EACH): Promise<LoadResult> =>
    runLoad({
      ...{ url, expectedStatus: 200, connections, seconds },
      source: inTurn(
        requests(PROXY_PATH, { 'x-mcp-key': proxyKey, accept: 'application/json, text/event-stream' }, CALL),
      ),
      ...(perSecond !== undefined && { requestsPerSecond: perSecond }),
    });

  const agents = await makeAgents(pair, NEW_AGENTS);
  await fetches(agents);
  await calls();
  const halfLoad = async (load: (perSecond: number) => Promise<LoadResult>): Promise<number> => {
    const before = cpuSecondsOf(pids);
    const { answered } = await load(CALIBRATION_PER_SECOND);
    return (LOAD * answered) / (cpuSecondsOf(pids) - before);
  };
  const halfOfFetches = await halfLoad((perSecond) => fetches(agents, perSecond));
  const halfOfCalls = await halfLoad(calls);
  const samples: Minute[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    const keys = await makeAgents(pair, NEW_AGENTS);
    await calls(halfOfCalls, WARM_UP_SECONDS);
    const callsOfMinute = await calls(halfOfCalls);
    await fetches(keys, halfOfFetches, WARM_UP_SECONDS);
    const loads = [await fetches(keys, halfOfFetches), callsOfMinute];
    await delay(REST_MS);
    samples.push({
      residentMb: await residentAfterCollections(pids),
      descriptors: pids.map((pid) => readdirSync(`/proc/${pid}/fd`).length),
      p99Ms: loads.map(({ p99Ms }) => p99Ms),
    });
    console.log(`minute ${minute + 1}: ${JSON.stringify(samples.at(-1))}`);
  }
  const warm = samples.slice(Math.floor(minutes * WARM_UP_SHARE));
  const half = Math.floor(warm.length / 2);
  const [first, last] = [warm.slice(0, half), warm.slice(-half)];
  const note = `${minutes} minutes at ${halfOfFetches.toFixed(0)} fetches and ${halfOfCalls.toFixed(0)} calls a second`;
  return [
    ...PROGRAMS.flatMap((program, at) => [
      {
        name: `memory that the ${program} gains in an hour`,
        value: slopeOf(warm.map(({ residentMb: each }) => each[at] ?? 0)) * 60,
        target: TARGETS.memoryAnHour,
        note,
      },
      {
        name: `descriptors of the ${program}, last third to the one before`,
        value:
          medianOf(last, ({ descriptors }) => descriptors[at]) /
          medianOf(first, ({ descriptors }) => descriptors[at]),
        target: TARGETS.flat,
      },
    ]),
    ...['fetches', 'calls'].map((name, at) => ({
      name: `p99 of ${name}, last third to the one before`,
      value: medianOf(last, ({ p99Ms }) => p99Ms[at]) / medianOf(first, ({ p99Ms }) => p99Ms[at]),
      target: TARGETS.flatP99,
    })),
  ];
}

/** In MB, by program. */
async function residentAfterCollections(pids: readonly number[]): Promise<readonly number[]> {
  const least = pids.map(() => Number.POSITIVE_INFINITY);
  for (let collection = 0; collection < COLLECTIONS; collection++) {
    for (const pid of pids) process.kill(pid, 'SIGUSR2');
    for (let waited = 0; waited < COLLECTION_MS; waited += COLLECTION_POLL_MS) {
      await delay(COLLECTION_POLL_MS);
      for (const [at, pid] of pids.entries()) least[at] = Math.min(least[at] ?? Number.NaN, residentMb(pid));
    }
  }
  return least;
}

function medianOf(minutes: readonly Minute[], read: (minute: Minute) => number | undefined): number {
  const values = minutes.map((minute) => read(minute) ?? Number.NaN).toSorted((one, other) => one - other);
  return values[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Least squares, for each step. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let [above, below] = [0, 0];
  for (const [at, value] of values.entries()) {
    above += (at - middle) * (value - mean);
    below += (at - middle) ** 2;
  }
  return above / below;
}
