import { formatTime, newId, newTimeOrderedId } from '@svault/shared';
import { hashedText } from '@svault/shared/audit-chain';
import { runLoad } from '../load.ts';
import { LOAD_CORE, cpuSecondsOf, cpuSecondsOfFamily } from '../machine.ts';
import { columns } from '../report.ts';
import { inTurn, requestBytes } from '../requests.ts';
import { type RoundOptions, alternate, median } from '../rounds.ts';
import { settle, startOwnServer } from '../server-process.ts';
import { SERVICE, makeAgents } from './bench-agents.ts';
import type { Cluster } from './cluster.ts';
import { WEBHOOK, bindTo } from './hostile-webhook.ts';
import { holdBackgroundWork, withSpread } from './unit-costs.ts';

const ACCOUNTS = 3;
const AGENTS = 50;
const PATH = `/api/agents/credentials?service=${SERVICE}`;
/** Requests in progress, over all control planes. */
const IN_PROGRESS = [96, 1_024, 16_384] as const;
/** Events of one write; the control plane writes no more than the last at once. */
const BATCHES = [1, 20, 200] as const;

interface Load {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of control planes and PostgreSQL, a request. */
  readonly cpuMicros: number;
  readonly denied: ReadonlyMap<string, number>;
  readonly answered: number;
}

/**
 * One account on three control planes against three accounts, then with ever more requests in progress, then its log alone. The
 * accounts have webhooks that store nothing, and nothing is sent to them.
 */
export async function oneAccountTables(
  cluster: Cluster,
  options: RoundOptions,
  started: AsyncDisposableStack,
): Promise<string> {
  // The first account's webhook is the pair's.
  const members = cluster.members.slice(1, 1 + ACCOUNTS);
  const keys: string[][] = [];
  for (const { admin } of members) {
    const webhook = await startOwnServer(WEBHOOK, LOAD_CORE, { readyPath: '/v1/health' });
    started.defer(webhook.stop);
    await bindTo(admin, webhook.url);
    keys.push([...(await makeAgents({ admin }, AGENTS))]);
  }
  await holdBackgroundWork(cluster);
  const pids = cluster.members.map(({ pid }) => pid);
  const cpu = (): number => cpuSecondsOf(pids) + cpuSecondsOfFamily(cluster.postgresPid);

  const measure = async (agentKeys: readonly string[], inProgress: number): Promise<Load> => {
    await settle(pids);
    const cpuBefore = cpu();
    const denied = new Map<string, number>();
    const runs = await Promise.all(
      members.map(({ url }) =>
        runLoad({
          ...{ url, expectedStatus: 307, denied, seconds: options.seconds },
          connections: Math.ceil(inProgress / members.length),
          source: inTurn(agentKeys.map((key) => requestBytes(url, PATH, { authorization: `Bearer ${key}` }))),
        }),
      ),
    );
    const answered = runs.reduce((sum, run) => sum + run.answered, 0);
    return {
      perSecond: runs.reduce((sum, run) => sum + run.requestsPerSecond, 0),
      p50Ms: median(runs.map((run) => run.p50Ms)),
      p99Ms: Math.max(...runs.map((run) => run.p99Ms)),
      cpuMicros: ((cpu() - cpuBefore) * 1e6) / answered,
      ...{ denied, answered },
    };
  };
  const [one = [], all] = [keys[0], keys.flat()];
  for (const each of [one, all]) await measure(each, IN_PROGRESS[0]);
  const states = await alternate(options.rounds, ['one', 'three'], (state) =>
    measure(state === 'one' ? one : all, IN_PROGRESS[0]),
  );
  const loads: Load[] = [];
  for (const inProgress of IN_PROGRESS) loads.push(await measure(one, inProgress));
  return `${columns([
    ['accounts', '307/s', 'p99 ms', 'CPU µs'],
    ...states.map((rounds, at) => [
      at === 0 ? '1' : String(ACCOUNTS),
      ...(['perSecond', 'p99Ms', 'cpuMicros'] as const).map((figure) =>
        withSpread(rounds.map((round) => round[figure])),
      ),
    ]),
  ])}

${columns([
  ['in progress', 'answers/s', 'p50 ms', 'p99 ms', 'CPU µs', 'denied'],
  ...loads.map(({ perSecond, p50Ms, p99Ms, cpuMicros, denied, answered }, at) => [
    String(IN_PROGRESS[at]),
    ...[perSecond, p50Ms, p99Ms, cpuMicros].map((value) => value.toFixed(0)),
    [...denied].map(([code, count]) => `${((100 * count) / answered).toFixed(0)} % ${code}`).join(', ') ||
      'none',
  ]),
])}

${await logTable(cluster, options.seconds)}`;
}

/** As the control plane writes them: `control-plane/src/store/postgres/audit-commit.ts`. */
const RECORD = {
  name: 'svault_record',
  text: 'SELECT svault_record($1, $2, $3, false, $4, NULL, NULL, $5)',
};

/** How many events a second one account's log takes, whose writes follow one another. */
async function logTable({ sql }: Cluster, seconds: number): Promise<string> {
  const vaultId = newId('vlt');
  const lines: string[][] = [];
  for (const size of BATCHES) {
    let writes = 0;
    const startedAt = performance.now();
    while (performance.now() - startedAt < seconds * 1_000) {
      const texts = Array.from({ length: size }, () => hashedText(accessOf(vaultId)));
      const behind = texts.map(({ behindNumber }) => behindNumber);
      const revisions = texts.map(() => null);
      const values = [vaultId, texts[0]?.beforeNumber, behind, revisions, formatTime(Date.now())];
      await sql.query({ ...RECORD, values });
      writes++;
    }
    const perSecond = (writes * 1_000) / (performance.now() - startedAt);
    lines.push([String(size), (1_000 / perSecond).toFixed(2), (perSecond * size).toFixed(0)]);
  }
  return columns([['events of a write', 'ms', 'events/s of one account'], ...lines]);
}

const accessOf = (vaultId: string) => ({
  vaultId,
  id: newTimeOrderedId('evt', Date.now()),
  eventType: 'AGENT_CREDENTIAL_ACCESS',
  timestamp: formatTime(Date.now()),
  outcome: 'success',
  agentId: newId('agt'),
  serviceName: SERVICE,
  origin: {
    requestId: newId('req'),
    channel: 'rest',
    address: '127.0.0.1',
    authenticatedBy: 'svagent_abcd…',
    userAgent: 'bench',
  },
});
