import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasPython } from '@svault/test-kit/foreign-packages';
import { ROOT, run } from '@svault/test-kit/run-program';
import { tempDir } from '@svault/test-kit/temp-dir';
import { PYTHON_CLIENT, pythonEnvironment } from './support/python.ts';

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

const PICKLES = `
import copy, multiprocessing, pickle, sys, svault

ERRORS = [
    svault.SvaultError("a"),
    svault.UsageError("a"),
    svault.ApiError("a", status=404, code="NO_GRANT", host="h", request_id="r", policy="p", rule="q"),
    svault.RateLimited("a", status=429, code="RATE_LIMITED", host="h", retry_after=7),
    svault.ConnectionFailed("a", is_retryable=False),
    svault.UnexpectedAnswer("a", status=502),
    svault.SealedError("other_key"),
]

def fail(at):
    raise ERRORS[at]

def same(one, other):
    assert type(one) is type(other) and str(one) == str(other) and vars(one) == vars(other), other

def public(kind):
    return {kind}.union(*map(public, kind.__subclasses__()))

if __name__ == "__main__":
    assert public(svault.SvaultError) == {type(each) for each in ERRORS}
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for at, error in enumerate(ERRORS):
            for copied in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
                same(error, copied)
            try:
                pool.apply(fail, (at,))
            except svault.SvaultError as raised:
                # The pool adds the traceback of its process as the cause, and nothing to the error.
                same(error, raised)
    print("done")
`;

test.skipIf(!hasPython)(
  'every error of the Python client survives pickle, copy and a pool of processes',
  async () => {
    const folder = tempDir();
    writeFileSync(join(folder.path, 'pickles.py'), PICKLES);
    const env = { PYTHONPATH: join(PYTHON_CLIENT, 'src'), PYTHONDONTWRITEBYTECODE: '1' };
    const finished = await run(['python3', 'pickles.py'], { cwd: folder.path, env });
    folder.remove();
    expect(finished).toEqual({ code: 0, stdout: 'done\n', stderr: '' });
  },
);

test('both clients have the version and the licence of the project', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const [, ofPython] = /^__version__ = "(.*)"$/m.exec(read('clients/python/src/svault/__init__.py')) ?? [];
  const ofNode = JSON.parse(read('clients/node/package.json')) as { version: string };
  expect([ofNode.version, ofPython]).toEqual([version, version]);
  expect(read('clients/python/LICENSE')).toBe(read('LICENSE'));
});
