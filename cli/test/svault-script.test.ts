import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect, onTestFinished, test } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../svault', import.meta.url));
const BUILT = 'cli/dist/client/dist/bin.js';
const SOURCES = ['cli/package.json', 'cli/src/bin.ts', 'shared/src/index.ts', 'compose/src/start.ts'];

/** A checkout of empty files, whose Node says what it is started with. */
function checkout() {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const path = (file: string): string => join(dir.path, file);
  /** @param seconds of its last change */
  const write = (file: string, seconds: number): void => {
    mkdirSync(dirname(path(file)), { recursive: true });
    writeFileSync(path(file), '');
    utimesSync(path(file), seconds, seconds);
  };
  for (const file of SOURCES) write(file, 100);
  write('node_modules/.bin/node', 100);
  writeFileSync(path('node_modules/.bin/node'), '#!/bin/sh\necho "$@"\n');
  chmodSync(path('node_modules/.bin/node'), 0o755);
  cpSync(SCRIPT, path('svault'));
  const started = (): string => {
    const { stdout } = spawnSync(path('svault'), ['get', 'two words'], { encoding: 'utf8' });
    return stdout.trim().replace(`${dir.path}/`, '');
  };
  return { write, started, remove: (file: string) => rmSync(path(file)) };
}

test('svault of a checkout starts what npm ci built of its sources', () => {
  const { write, started } = checkout();
  write(BUILT, 200);
  expect(started()).toBe(`${BUILT} get two words`);
});

test('it starts the sources where nothing is built, and after a change of any of them', () => {
  const { write, started, remove } = checkout();
  expect(started()).toBe('cli/src/bin.ts get two words');
  for (const source of SOURCES) {
    write(BUILT, 200);
    write(source, 300);
    expect([source, started()]).toEqual([source, 'cli/src/bin.ts get two words']);
    write(source, 100);
  }
  expect(started()).toBe(`${BUILT} get two words`);
  remove(BUILT);
  expect(started()).toBe('cli/src/bin.ts get two words');
});
