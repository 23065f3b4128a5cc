import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { programEnv } from '@svault/test-kit/program-env';

/** Less than the runner gives a test, so that none outlives a test that was given up. */
const MAX_MS = 50_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that runs beside the test, under this Node. */
export interface Child {
  /** The first match in what it writes, on either stream; rejects when it ends without one. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Its end, with all that it wrote. */
  readonly ended: Promise<Ended>;
  /** Ends it, if it still runs, and waits. */
  stop(): Promise<void>;
}

/** What a program gets of our environment, in a home of its own and with a browser that opens nothing. */
export const homeEnv = (home: string, env: Readonly<Record<string, string>> = {}) => ({
  ...programEnv({}),
  HOME: home,
  XDG_CONFIG_HOME: home,
  BROWSER: 'true',
  NO_COLOR: '1',
  ...env,
});

/**
 * Starts a program in a home of its own, where it may keep what it likes, and without a browser: what it would open shows
 * in what it writes.
 *
 * @param home an empty folder, for its configuration and as its working directory
 */
export function startChild(
  home: string,
  file: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Child {
  const child = spawn(process.execPath, [file, ...words], {
    cwd: home,
    env: homeEnv(home, env),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: MAX_MS,
  });
  const written = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
      for (const look of waiting) look();
    });
  const ended = once(child, 'close').then(([code]): Ended => ({ code: code as number | null, ...written }));
  return {
    ended,
    says: async (pattern) => {
      const found = Promise.withResolvers<RegExpExecArray>();
      const look = (): void => {
        const match = pattern.exec(written.stdout) ?? pattern.exec(written.stderr);
        if (match !== null) found.resolve(match);
      };
      waiting.add(look);
      look();
      const without = ended.then(({ code, stdout, stderr }) => {
        throw new Error(`ended with ${code} and never said ${pattern}:\n${stdout}\n${stderr}`);
      });
      return Promise.race([found.promise, without]).finally(() => waiting.delete(look));
    },
    stop: async () => {
      kill(child);
      await ended;
    },
  };
}

function kill(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) child.kill();
}
