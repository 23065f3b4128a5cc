import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { programEnv } from '@svault/test-kit/program-env';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const START = fileURLToPath(new URL('../src/start.ts', import.meta.url));

export interface Started {
  /** What it printed once both programs ran. */
  readonly told: string;
  /** What it has written to stderr so far. */
  err(): string;
  /** Ctrl-C: the terminal sends it to every process of the group. */
  interrupt(): Promise<{ readonly code: number | null; readonly err: string }>;
  /** Sends SIGTERM to the webhook alone, as its owner does with kill. */
  endWebhook(): void;
  /** Ends what is left of it; for a test that failed half way. */
  endAll(): void;
}

export interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** `npm start` without npm, as a process group of its own; resolves when it has said what to do next. */
export async function started(place: Place): Promise<Started> {
  const child = spawnStart(place);
  let err = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
  let told = '';
  for await (const chunk of child.stdout?.setEncoding('utf8') ?? []) {
    told += String(chunk);
    if (told.includes('Ctrl-C stops both')) break;
  }
  if (!told.includes('Ctrl-C stops both')) throw new Error(`it did not start: ${err}`);
  return {
    told,
    err: () => err,
    interrupt: async () => {
      const closed = once(child, 'close') as Promise<[number | null]>;
      process.kill(-(child.pid ?? 0), 'SIGINT');
      const [code] = await closed;
      return { code, err };
    },
    endWebhook: () => {
      const { stdout } = spawnSync('ps', ['-eo', 'pid=,pgid=,args='], { encoding: 'utf8' });
      const pids = stdout
        .split('\n')
        .map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? [])
        .filter(
          ([, , group, args = '']) => Number(group) === child.pid && args.includes('/webhook/dist/main.js'),
        )
        .map(([, pid]) => Number(pid));
      if (pids.length !== 1) throw new Error(`${pids.length} webhooks run in this group`);
      process.kill(pids[0] ?? 0, 'SIGTERM');
    },
    endAll: () => {
      if (isGroupAlive(child)) process.kill(-(child.pid ?? 0), 'SIGKILL');
    },
  };
}

/** A start that is expected to end by itself. @param words behind `npm start --` */
export async function endedStart(
  place: Place,
  ...words: readonly string[]
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = spawnStart(place, words);
  const [out, err, [code]] = await Promise.all([
    child.stdout?.setEncoding('utf8').toArray() ?? [],
    child.stderr?.setEncoding('utf8').toArray() ?? [],
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, out: out.join(''), err: err.join('') };
}

/** Runs a line that was printed, as somebody who copied it in the checkout. @returns what it wrote to stdout */
export function inShell(line: string, variables: Readonly<Record<string, string>> = {}): string {
  const env = { PATH: process.env['PATH'] ?? '', ...variables };
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { cwd: ROOT, encoding: 'utf8', env });
  if (status !== 0) throw new Error(`${line} exited with ${status}: ${stderr}`);
  return stdout;
}

function spawnStart({ cwd, env }: Place, words: readonly string[] = []): ChildProcess {
  return spawn(process.execPath, [START, ...words], {
    cwd,
    env: programEnv(env),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
}

function isGroupAlive({ pid = 0 }: ChildProcess): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
