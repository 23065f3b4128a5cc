import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '@svault/compose/free-port';
import { type LoadResult, runLoad } from '../load.ts';
import { LOAD_CORE, forgetMostResident, pinnedTo, residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { type RoundOptions, median } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { startWebhookContender } from './webhook-credential.ts';

const ATTACK = fileURLToPath(new URL('../attack.ts', import.meta.url));
/** What any machine serves with time to spare. */
const REQUESTS_PER_SECOND = 200;
const KIB = 1024;
const MIB = 1024 * KIB;
/** Of the tickets that a run as fast as the server answers has to have. */
const SHARE_OF_TICKETS = 0.02;

/** What strangers cost: the memory of half bodies, and for those who fetch a credential, p99 under attack over p99 without. */
export async function webhookUnderAttackRows(
  dir: string,
  options: Omit<RoundOptions, 'pids'>,
): Promise<readonly Row[]> {
  const { contender, stop } = await startWebhookContender(
    dir,
    await freePort(),
    options.seconds * SHARE_OF_TICKETS,
  );
  const { url, pid, expectedStatus, prepare } = contender;
  const load = (source: ReturnType<typeof prepare>): Promise<LoadResult> => {
    const { connections, seconds } = options;
    const rate = { requestsPerSecond: REQUESTS_PER_SECOND };
    return runLoad({ url, source, expectedStatus, connections, seconds, ...rate });
  };
  const measure = async (bytes: number): Promise<{ ratio: number; note: string }> => {
    const quiet: LoadResult[] = [];
    const attacked: LoadResult[] = [];
    for (let round = 0; round < options.rounds; round++) {
      quiet.push(await load(prepare()));
      const source = prepare();
      const attack = await startAttack(url, bytes, 'ready');
      attacked.push(await load(source));
      await end(attack);
      await settle([pid]);
    }
    const of = (results: readonly LoadResult[], which: 'p50Ms' | 'p99Ms'): number =>
      median(results.map((each) => each[which]));
    const times = (which: 'p50Ms' | 'p99Ms'): string =>
      `${of(quiet, which).toFixed(2)} ms without, ${of(attacked, which).toFixed(2)} ms with`;
    const note = `${times('p99Ms')}; p50 ${times('p50Ms')}, at ${REQUESTS_PER_SECOND}/s`;
    return { ratio: of(attacked, 'p99Ms') / of(quiet, 'p99Ms'), note };
  };
  try {
    // As fast as it answers: what it takes for that is no cost of an attack.
    await runLoad({ url, source: prepare(), expectedStatus, connections: 32, seconds: options.seconds });
    await settle([pid]);
    const before = residentMb(pid);
    forgetMostResident(pid);
    await end(await startAttack(url, 0, 'open'));
    await settle([pid]);
    const most = residentMb(pid, 'VmHWM');
    const large = await measure(MIB);
    const small = await measure(KIB);
    return [
      {
        name: 'webhook, memory that 600 half bodies take at most',
        value: most - before,
        target: TARGETS.memoryOfHalfBodies,
        note: `from ${before.toFixed(0)} MB to ${most.toFixed(0)} MB`,
      },
      {
        name: 'webhook /v1/credential, p99 under half bodies and exchanges of 1 MiB',
        value: large.ratio,
        target: TARGETS.p99UnderAttack,
        note: large.note,
      },
      {
        name: 'webhook /v1/credential, p99 under half bodies and exchanges of 1 KiB',
        value: small.ratio,
        target: TARGETS.p99UnderSmallExchanges,
        note: small.note,
      },
    ];
  } finally {
    await stop();
  }
}

/** In a process of low priority, since the load shares its core and the server is measured. */
async function startAttack(url: string, bytes: number, until: 'ready' | 'open'): Promise<ChildProcess> {
  const [command, ...pin] = pinnedTo(LOAD_CORE);
  const attack = spawn('nice', ['-n', '15', command, ...pin, process.execPath, ATTACK, url, String(bytes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface(attack.stdout)) if (line === until) break;
  return attack;
}

async function end(attack: ChildProcess): Promise<void> {
  const exited = once(attack, 'exit');
  attack.kill('SIGKILL');
  await exited;
}
