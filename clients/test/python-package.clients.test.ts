import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PYTHON_CLIENT, hasPython, pythonEnvironment } from './support/python.ts';
import { ROOT, run } from './support/run.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

if (!hasPython)
  process.stderr.write('\nNOT TESTED: the types of the client for Python, which is not installed here\n\n');

test.skipIf(!hasPython)('the Python client passes the strict checks of mypy', async () => {
  const mypy = [await pythonEnvironment(), '-m', 'mypy', '--strict', '--no-incremental', 'svault'];
  expect(await run(mypy, { cwd: join(PYTHON_CLIENT, 'src') })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Success: no issues found in \d+ source files\n$/),
  });
});

test('both clients have the version and the licence of the project', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const [, ofPython] = /^__version__ = "(.*)"$/m.exec(read('clients/python/src/svault/__init__.py')) ?? [];
  const ofNode = JSON.parse(read('clients/node/package.json')) as { version: string };
  expect([ofNode.version, ofPython]).toEqual([version, version]);
  expect(read('clients/python/LICENSE')).toBe(read('LICENSE'));
});
