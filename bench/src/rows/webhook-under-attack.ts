import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@svault/compose/free-port';
import { type LoadResult, runLoad } from '../load.ts';
import { LOAD_CORE, pinnedTo, residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { type RoundOptions, median } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { startWebhookContender } from './webhook-credential.ts';

const ATTACK = fileURLToPath(new URL('../attack.ts', import.meta.url));
/** What any machine serves with time to spare. */
const REQUESTS_PER_SECOND = 200;
/** Of the tickets that a run as fast as the server answers has to have. */
const SHARE_OF_TICKETS = 0.02;
/** A refused sender is read on for a second. */
const AFTERWARDS_MS = 3_000;

/** What strangers cost those who fetch a credential: p99 under attack over p99 without, and the memory that stays. */
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
  const quiet: LoadResult[] = [];
  const attacked: LoadResult[] = [];
  try {
    // As fast as it answers: what it takes for that is no cost of an attack.
    await runLoad({ url, source: prepare(), expectedStatus, connections: 32, seconds: options.seconds });
    await settle([pid]);
    const before = residentMb(pid);
    for (let round = 0; round < options.rounds; round++) {
      quiet.push(await load(prepare()));
      const source = prepare();
      const attack = await startAttack(url);
      attacked.push(await load(source));
      await end(attack);
      await delay(AFTERWARDS_MS);
      await settle([pid]);
    }
    const stays = residentMb(pid) - before;
    const of = (results: readonly LoadResult[], which: 'p50Ms' | 'p99Ms'): number =>
      median(results.map((each) => each[which]));
    const times = (which: 'p50Ms' | 'p99Ms'): string =>
      `${of(quiet, which).toFixed(2)} ms without, ${of(attacked, which).toFixed(2)} ms with`;
    return [
      {
        name: 'webhook /v1/credential, p99 under attack',
        value: of(attacked, 'p99Ms') / of(quiet, 'p99Ms'),
        target: TARGETS.p99UnderAttack,
        note: `${times('p99Ms')}; p50 ${times('p50Ms')}, at ${REQUESTS_PER_SECOND}/s`,
      },
      {
        name: 'webhook, memory that an attack leaves',
        value: stays,
        target: TARGETS.memoryAfterAttack,
        note: `from ${before.toFixed(0)} MB, after ${options.rounds} attacks of 600 half bodies each`,
      },
    ];
  } finally {
    await stop();
  }
}

/** In a process that gives way to the load, which shares its core: what is measured is the server. */
async function startAttack(url: string): Promise<ChildProcess> {
  const [command, ...pin] = pinnedTo(LOAD_CORE);
  const attack = spawn('nice', ['-n', '15', command, ...pin, process.execPath, ATTACK, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(attack.stdout, 'data');
  return attack;
}

async function end(attack: ChildProcess): Promise<void> {
  const exited = once(attack, 'exit');
  attack.kill('SIGKILL');
  await exited;
}
