import { freePort } from '@svault/compose/free-port';
import { type Pair, pairSettings, startPair } from '@svault/compose/pair';
import { startProgram } from '@svault/compose/program-process';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { runLoad } from '../load.ts';
import { LOAD_CORE, SERVER_CORE, cpuSecondsOf, cpuSecondsOfFamily, pinnedTo } from '../machine.ts';
import type { Row } from '../report.ts';
import { type RoundOptions, alternate, median, rowOf } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { controlPlaneContenders, pidOf } from './control-plane.ts';
import { startDatabases } from './rates.ts';

const PROCESSES = 3;

/** CPU microseconds that one request takes. */
interface Cost {
  readonly ofProcesses: number;
  readonly ofPostgres: number;
}

/**
 * What three control planes on one PostgreSQL and one Redis serve over what one does. They share a core here, so the rates are computed: as
 * many requests a second as the CPU time for each lets through on a core for each process and one for PostgreSQL.
 */
export async function processRows(dir: string, options: RoundOptions): Promise<readonly Row[]> {
  await using started = new AsyncDisposableStack();
  const databases = await startDatabases(started);
  const env = { ...RAISED_LIMITS, ...databases.env };
  const launcher = { 'control-plane': pinnedTo(SERVER_CORE), webhook: pinnedTo(LOAD_CORE) };
  const pair = await startPair({ dir, env, launcher });
  started.defer(pair.stop);
  const members = [{ url: pair.controlPlaneUrl, pid: pidOf(pair, 'control-plane') }];
  while (members.length < PROCESSES) {
    const member = await startMember(pair, { dir, env });
    started.defer(member.stop);
    members.push(member);
  }
  const { credentials } = await controlPlaneContenders(pair);
  const pids = members.map(({ pid }) => pid);
  const measure = async (count: number): Promise<Cost> => {
    const used = members.slice(0, count);
    await settle([...pids, pidOf(pair, 'webhook')]);
    const own = used.map(({ pid }) => pid);
    const [before, postgresBefore] = [cpuSecondsOf(own), cpuSecondsOfFamily(databases.postgresPid)];
    const runs = used.map(({ url }) =>
      runLoad({ ...credentials, url, source: credentials.prepare(), ...options }),
    );
    const answered = (await Promise.all(runs)).reduce((sum, run) => sum + run.answered, 0);
    return {
      ofProcesses: ((cpuSecondsOf(own) - before) * 1e6) / answered,
      ofPostgres: ((cpuSecondsOfFamily(databases.postgresPid) - postgresBefore) * 1e6) / answered,
    };
  };
  for (const count of [1, PROCESSES]) await measure(count);
  const [one, all] = await alternate(options.rounds, ['1', `${PROCESSES}`], (count) =>
    measure(Number(count)),
  );
  const rate = ({ ofProcesses, ofPostgres }: Cost, count: number): number =>
    Math.min(count / ofProcesses, 1 / ofPostgres);
  const costs = (of: readonly Cost[]): string =>
    (['ofProcesses', 'ofPostgres'] as const)
      .map((part) => `${median(of.map((cost) => cost[part])).toFixed(0)} µs`)
      .join(' and PostgreSQL ');
  const factors = all.map((cost, round) => {
    const alone = one[round];
    return alone === undefined ? Number.NaN : rate(cost, PROCESSES) / rate(alone, 1);
  });
  return [
    rowOf(
      `credentials, ${PROCESSES} processes to one, computed from CPU`,
      TARGETS.threeProcesses,
      factors,
      `a request takes one process ${costs(one)}, of ${PROCESSES} ${costs(all)}`,
    ),
  ];
}

/** One more control plane of the pair's. */
async function startMember(
  pair: Pair,
  { dir, env }: { readonly dir: string; readonly env: Readonly<Record<string, string>> },
) {
  const portOf = (url: string): number => Number(new URL(url).port);
  const settings = pairSettings(
    { dir, env },
    { controlPlane: portOf(pair.controlPlaneUrl), webhook: portOf(pair.webhookUrl) },
  );
  const listen = `127.0.0.1:${await freePort()}`;
  const program = await startProgram('control-plane', `http://${listen}`, {
    env: { ...settings.env, SV_LISTEN: listen },
    cwd: dir,
    launcher: pinnedTo(SERVER_CORE),
  });
  if (program.child.pid === undefined) throw new Error('a control plane has no process');
  return { url: `http://${listen}`, pid: program.child.pid, stop: program.stop };
}
