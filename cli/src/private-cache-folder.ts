import { lstatSync, mkdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import type { Invocation } from './invocation.ts';

/**
 * A folder for files that can be made again. Only this user can write to it, since code is loaded from there. Makes it
 * where it is missing.
 * @returns undefined where there is none that is this user's alone
 */
export function privateCacheFolder(env: Invocation['env'], name: string): string | undefined {
  try {
    const caches = cachesOf(env);
    if (!isAbsolute(caches)) return undefined;
    const ours = join(caches, 'svault');
    const folder = join(ours, name);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Who could write to one above could put another in its place. Only the first may be a link: it is the user's choice.
    const safe =
      isOwn(statSync(caches), 0o022) &&
      isOwn(lstatSync(ours), 0o077) &&
      isOwn(lstatSync(folder), 0o077) &&
      [...above(caches), ...above(realpathSync(caches))].every((each) => isOfNobodyElse(statSync(each)));
    return safe ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** XDG Base Directory Specification; on macOS, where its programs keep what they can make anew. */
function cachesOf(env: Invocation['env']): string {
  const named = env['XDG_CACHE_HOME'];
  if (named !== undefined && isAbsolute(named)) return named;
  const { HOME = '' } = env;
  const home = isAbsolute(HOME) ? HOME : homedir();
  return process.platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache');
}

/** @param forbidden permissions that no user may have on it; false on Windows, which shows none of this */
const isOwn = (found: Stats, forbidden: number): boolean =>
  found.isDirectory() && found.uid === process.getuid?.() && (found.mode & forbidden) === 0;

/** Whether only this user and root can replace this user's files in it. */
export const isOfNobodyElse = ({ uid, mode }: Stats): boolean =>
  (uid === 0 || uid === process.getuid?.()) && ((mode & 0o022) === 0 || (mode & STICKY) !== 0);

/** There, as in /tmp, others may add, and neither move nor remove what is not theirs. */
const STICKY = 0o1000;

const above = (path: string): string[] => {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...above(parent)];
};
