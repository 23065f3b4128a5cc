import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STARTED = [
  'compose/src/start.js',
  'compose/src/demo.js',
  'control-plane/src/main.js',
  'webhook/src/main.js',
  'cli/src/bin.js',
  'conformance/src/bin.js',
];

/** This Node, as one that cannot run TypeScript; Node 20 neither knows the flag nor needs it. */
const started = (root: string, file: string) =>
  spawnSync(process.execPath, ['--no-experimental-strip-types', file, '--version'], {
    cwd: root,
    encoding: 'utf8',
  });

test.each(STARTED)('%s says in one line that Node is too old, and which one to use', (file) => {
  const { status, stdout, stderr } = started(ROOT, file);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toBe(
    `svault: Node ${process.version} is too old for its sources, which need 22.18 or newer. ` +
      `Use the one among its packages: node_modules/.bin/node ${file}\n`,
  );
});

test.each(STARTED)('%s says in one line that npm ci has to come first', (file) => {
  const root = mkdtempSync(join(tmpdir(), 'svault-test-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const path of ['package.json', 'scripts/old-node.js', `${dirname(dirname(file))}/package.json`, file])
    cpSync(join(ROOT, path), join(root, path));
  const { status, stderr } = started(root, file);
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `svault: its packages are not installed: run npm ci in ${root}/\n`,
  });
});
