import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Reading, Upstream } from './reading.ts';

const source = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

type Command = readonly [program: string, ...args: string[]];

/** Each works where the language is installed. */
const LANGUAGES: readonly Command[] = [
  ['python3', '--version'],
  ['go', 'version'],
];

const run = ([program, ...args]: Command): Buffer =>
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });

/** The programs of the upstreams that are not installed here. */
export function missingPrograms(): readonly string[] {
  return LANGUAGES.flatMap((command) => {
    try {
      run(command);
      return [];
    } catch {
      return [command[0]];
    }
  });
}

export function startPythonUpstream(): Upstream {
  return upstreamOf(spawn('python3', [source('upstream.py')]));
}

/** Compiles it first. */
export async function startGoUpstream(): Promise<Upstream> {
  const folder = await mkdtemp(join(tmpdir(), 'svault-go-upstream-'));
  const program = join(folder, 'upstream');
  run(['go', 'build', '-o', program, source('upstream.go')]);
  const upstream = upstreamOf(spawn(program));
  return {
    read: upstream.read,
    stop: async () => {
      await upstream.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A program that answers each line of its input, a request in base64, with a line of JSON. */
function upstreamOf(child: ChildProcessWithoutNullStreams): Upstream {
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    read: async (requests) => {
      child.stdin.write(requests.map((raw) => `${raw.toString('base64')}\n`).join(''));
      const readings: Reading[] = [];
      while (readings.length < requests.length) {
        const line = await lines.next();
        if (line.done === true) throw new Error(`an upstream ended after ${readings.length} readings`);
        readings.push(JSON.parse(line.value) as Reading);
      }
      return readings;
    },
    stop: async () => {
      const exited = once(child, 'exit');
      child.stdin.end();
      await exited;
    },
  };
}
