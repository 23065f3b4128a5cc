import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect, onTestFinished, test } from 'vitest';
import { buildProgram, copyInstalled } from './program.ts';

function emptyFolder(): string {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  return dir.path;
}

/** The content of each is its path. */
function write(folder: string, paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), path);
  }
}

test('a built program has the same files where another version was built, another build was killed, and a third one runs', async () => {
  const [fresh, used] = [emptyFolder(), emptyFolder()];
  const ended = spawnSync('true').pid;
  write(used, [
    'main.js',
    'chunk-OLDER.js',
    'older-worker.mjs',
    'node_modules/older/package.json',
    `.building-${ended}-aaaaaa/main.js`,
  ]);
  await buildProgram('control-plane', fresh);
  await Promise.all([buildProgram('control-plane', used), buildProgram('control-plane', used)]);
  for (const folder of [fresh, used]) copyInstalled(folder);
  expect(readdirSync(fresh)).toEqual(expect.arrayContaining(['main.js', 'node_modules']));
  expect(spawnSync('diff', ['--recursive', '--brief', fresh, used], { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stdout: '',
  });
});

test('a build leaves alone what a build of another process makes meanwhile', async () => {
  const folder = emptyFolder();
  const running = `.building-${process.ppid}-aaaaaa/main.js`;
  write(folder, [running]);
  await buildProgram('webhook', folder);
  expect(existsSync(join(folder, running))).toBe(true);
});
