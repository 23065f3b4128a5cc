import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { programEnv } from '@svault/test-kit/program-env';

const run = promisify(execFile);
const MAIN = new URL('../src/main.ts', import.meta.url).pathname;

/** Runs the program as an operator does. @returns its exit code and what it wrote */
export async function program(env: Readonly<Record<string, string>>, ...words: string[]) {
  const options = { env: programEnv(env) };
  return run(process.execPath, [MAIN, ...words], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}
