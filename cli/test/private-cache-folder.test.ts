import { chmodSync, lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { privateCacheFolder } from '../src/private-cache-folder.ts';
import { someone } from './command-line.ts';

let dir: string;
beforeEach(() => void (dir = someone().dir));

test('it is a folder of this user alone, below XDG_CACHE_HOME', () => {
  const folder = privateCacheFolder({ XDG_CACHE_HOME: dir }, 'compiled');
  expect(folder).toBe(join(dir, 'svault', 'compiled'));
  expect(lstatSync(folder!).mode & 0o777).toBe(0o700);
  expect(privateCacheFolder({ XDG_CACHE_HOME: dir }, 'compiled')).toBe(folder);
});

test('a relative XDG_CACHE_HOME does not count, as its specification has it', () => {
  expect(privateCacheFolder({ XDG_CACHE_HOME: 'here', HOME: dir }, 'compiled')).toMatch(dir);
});

test.each([
  ['the folder for caches is writable by others', () => chmodSync(dir, 0o777)],
  ['the folder is readable by others', () => madeWith(0o755)],
  ['the folder is writable by its group', () => madeWith(0o770)],
  ['the folder is a link', () => symlinkSync(dir, join(dir, 'svault'))],
  ['there is a file in its place', () => symlinkSync('/etc/passwd', join(dir, 'svault'))],
])('none where %s', (_, spoil) => {
  spoil();
  expect(privateCacheFolder({ XDG_CACHE_HOME: dir }, 'compiled')).toBeUndefined();
});

test.each([
  ['a folder above it', (caches: string) => caches],
  ['a folder above what a link leads to', (caches: string) => linkTo(caches)],
  ['the folder that such a link is in', (caches: string) => linkTo(caches)],
])('none where others may write to %s, and put another in its place', (what, named) => {
  const above = join(dir, 'shared');
  const caches = join(above, 'mine');
  mkdirSync(caches, { recursive: true });
  const XDG_CACHE_HOME = named(caches);
  expect(privateCacheFolder({ XDG_CACHE_HOME }, 'compiled')).toBe(join(XDG_CACHE_HOME, 'svault/compiled'));
  const open = what.startsWith('the folder') ? join(dir, 'links') : above;
  chmodSync(open, 0o777);
  expect(privateCacheFolder({ XDG_CACHE_HOME }, 'compiled')).toBeUndefined();
  // As /tmp: they may add to it, and move nothing of others.
  chmodSync(open, 0o1777);
  expect(privateCacheFolder({ XDG_CACHE_HOME }, 'compiled')).toBeDefined();
});

test('none where nothing can be written, and no error', () => {
  expect(privateCacheFolder({ XDG_CACHE_HOME: '/dev/null' }, 'compiled')).toBeUndefined();
});

function madeWith(mode: number): void {
  const folder = join(dir, 'svault');
  mkdirSync(folder);
  chmodSync(folder, mode);
}

function linkTo(target: string): string {
  const links = join(dir, 'links');
  mkdirSync(links);
  symlinkSync(target, join(links, 'here'));
  return join(links, 'here');
}
