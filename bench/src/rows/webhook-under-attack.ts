import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type LoadResult, runLoad } from '../load.ts';
import { LOAD_CORE, forgetMostResident, pinnedTo, residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import type { RequestSource } from '../requests.ts';
import { type RoundOptions, alternate, p99Row } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS, type Target } from '../targets.ts';
import { startWebhookContender } from './webhook-credential.ts';

const ATTACK = fileURLToPath(new URL('../attack.ts', import.meta.url));
/** What any machine serves with time to spare. */
const REQUESTS_PER_SECOND = 200;
const STATES = ['without', 'with'] as const;
const KIB = 1024;
const MIB = 1024 * KIB;
/** Of the tickets that a run as fast as the server answers has to have. */
const SHARE_OF_TICKETS = 0.02;

/** What strangers cost: the memory of half bodies, and for those who fetch a credential, p99 under attack over p99 without. */
export async function webhookUnderAttackRows(dir: string, options: RoundOptions): Promise<readonly Row[]> {
  const { contender, stop } = await startWebhookContender(dir, options.seconds * SHARE_OF_TICKETS);
  const { url, pid, prepare } = contender;
  const load = (source: RequestSource): Promise<LoadResult> =>
    runLoad({ ...contender, ...options, source, requestsPerSecond: REQUESTS_PER_SECOND });
  const underExchanges = async (of: string, bytes: number, target: Target): Promise<Row> => {
    const results = await alternate(options.rounds, STATES, async (state) => {
      const source = prepare();
      if (state === 'without') return load(source);
      const attack = await startAttack(url, bytes, 'ready');
      const attacked = await load(source);
      await end(attack);
      await settle([pid]);
      return attacked;
    });
    const name = `webhook /v1/credential, p99 under half bodies and exchanges of ${of}`;
    return p99Row(name, target, results, { states: STATES, note: `, at ${REQUESTS_PER_SECOND}/s` });
  };
  try {
    // As fast as it answers: what it takes for that is no cost of an attack.
    await runLoad({ ...contender, ...options, source: prepare(), connections: 32 });
    await settle([pid]);
    const before = residentMb(pid);
    forgetMostResident(pid);
    await end(await startAttack(url, 0, 'open'));
    await settle([pid]);
    const most = residentMb(pid, 'VmHWM');
    return [
      {
        name: 'webhook, memory that 600 half bodies take at most',
        value: most - before,
        target: TARGETS.memoryOfHalfBodies,
        note: `from ${before.toFixed(0)} MB to ${most.toFixed(0)} MB`,
      },
      await underExchanges('1 MiB', MIB, TARGETS.p99UnderAttack),
      await underExchanges('1 KiB', KIB, TARGETS.p99UnderSmallExchanges),
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
