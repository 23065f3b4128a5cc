import { chmodSync, lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { privateCacheFolder } from '../src/private-cache-folder.ts';

let dir: ReturnType<typeof tempDir>;
beforeEach(() => void (dir = tempDir()));
afterEach(() => dir.remove());

test('it is a folder of this user alone, below XDG_CACHE_HOME', () => {
  const folder = privateCacheFolder({ XDG_CACHE_HOME: dir.path }, 'compiled');
  expect(folder).toBe(join(dir.path, 'svault', 'compiled'));
  expect(lstatSync(folder!).mode & 0o777).toBe(0o700);
  expect(privateCacheFolder({ XDG_CACHE_HOME: dir.path }, 'compiled')).toBe(folder);
});

test('a relative XDG_CACHE_HOME does not count, as its specification has it', () => {
  expect(privateCacheFolder({ XDG_CACHE_HOME: 'here', HOME: dir.path }, 'compiled')).toMatch(dir.path);
});

test.each([
  ['the folder for caches is writable by others', () => chmodSync(dir.path, 0o777)],
  ['the folder is readable by others', () => madeWith(0o755)],
  ['the folder is writable by its group', () => madeWith(0o770)],
  ['the folder is a link', () => symlinkSync(dir.path, join(dir.path, 'svault'))],
  ['there is a file in its place', () => symlinkSync('/etc/passwd', join(dir.path, 'svault'))],
])('none where %s', (_, spoil) => {
  spoil();
  expect(privateCacheFolder({ XDG_CACHE_HOME: dir.path }, 'compiled')).toBeUndefined();
});

test('none where nothing can be written, and no error', () => {
  expect(privateCacheFolder({ XDG_CACHE_HOME: '/dev/null' }, 'compiled')).toBeUndefined();
});

function madeWith(mode: number): void {
  const folder = join(dir.path, 'svault');
  mkdirSync(folder);
  chmodSync(folder, mode);
}
