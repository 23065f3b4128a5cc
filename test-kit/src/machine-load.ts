import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { tempDir } from './temp-dir.ts';

/** Busy processes for each core, and further ones that write. */
const PER_CORE = 6;
const WRITERS = 2;

/** Keeps a core busy; ends after a time, or when its parent has ended. */
const PROGRAM = `
  const { writeFileSync } = require('node:fs');
  const [ms, file] = process.argv.slice(1);
  const end = Date.now() + Number(ms), parent = process.ppid, piece = Buffer.alloc(1 << 20);
  const turn = () => {
    const until = Date.now() + 50;
    while (Date.now() < until) if (file) writeFileSync(file, piece, { flush: true });
    if (Date.now() < end && process.ppid === parent) setImmediate(turn);
  };
  turn();`;

/**
 * Loads the machine, six times over, with processes that compute and some that write to the disk.
 *
 * @param maxMs after which all of it ends by itself
 * @returns ends it, and resolves once it has ended
 */
export function startMachineLoad(maxMs: number): () => Promise<void> {
  const dir = tempDir();
  const begin = (file?: string): ChildProcess =>
    spawn(process.execPath, ['-e', PROGRAM, String(maxMs), ...(file === undefined ? [] : [file])], {
      stdio: 'ignore',
    });
  const children = [
    ...Array.from({ length: PER_CORE * availableParallelism() }, () => begin()),
    ...Array.from({ length: WRITERS }, (_, at) => begin(`${dir.path}/${at}`)),
  ];
  const ended = Promise.all(children.map(async (child) => once(child, 'exit')));
  return async () => {
    for (const child of children) child.kill('SIGKILL');
    await ended;
    dir.remove();
  };
}
