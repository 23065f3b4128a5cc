import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { failed } from '../../failure.ts';
import { isOfNobodyElse } from '../../private-cache-folder.ts';
import { systemReason } from '../../system-reason.ts';

/** Files of one run, removed after it however svault ends. */
export interface RunFolder {
  /** @returns the path */
  write(name: string, text: string): string;
  /** Has the command ended too if svault is killed. */
  watch(pid: number): void;
  remove(): void;
}

/**
 * Reads its input until svault ends, then removes the folder and ends the process whose id is on the last line: with SIGTERM,
 * and five seconds later with SIGKILL. Signals of the terminal do not reach it.
 */
const WATCHER = `
trap '' HUP INT QUIT TERM
pid=
while read -r line; do pid=$line; done
rm -rf -- "$1"
[ -n "$pid" ] || exit 0
kill -TERM "$pid" || exit 0
for second in 1 2 3 4 5; do
  sleep 1
  kill -0 "$pid" || exit 0
done
kill -KILL "$pid"`;

/**
 * Makes a folder that only this user can read, and starts the process that removes it.
 * @throws Failure failed if it cannot be made, or if another user could replace it and its certificates
 */
export function makeRunFolder(): RunFolder {
  const path = newFolderIn(tmpdir());
  const watcher = spawn('/bin/sh', ['-c', WATCHER, 'svault-run', path], {
    // In a new session.
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.on('error', () => undefined).unref();
  watcher.stdin.on('error', () => undefined);
  const tell = (line: string): void => void watcher.stdin.write(`${line}\n`);
  return {
    write: (name, text) => {
      const file = join(path, name);
      writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
      return file;
    },
    watch: (pid) => tell(String(pid)),
    remove: () => {
      rmSync(path, { recursive: true, force: true });
      tell('');
      watcher.stdin.end();
    },
  };
}

function newFolderIn(parent: string): string {
  try {
    // Windows has no numeric owners.
    if (process.getuid === undefined || isOfNobodyElse(statSync(parent)))
      return mkdtempSync(join(parent, 'svault-run-'));
  } catch (error) {
    throw failed(
      `the files of a run cannot be kept in ${parent}: ${systemReason(error)}. Set TMPDIR to a folder of yours`,
      error,
    );
  }
  throw failed(`other users can exchange files in ${parent}: set TMPDIR to a folder of yours`);
}
