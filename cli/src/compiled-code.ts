import { lstatSync, mkdirSync, type Stats, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Invocation } from './invocation.ts';

/**
 * Has Node keep what it compiles of this program in a folder of this user, which makes every later start faster. Whoever can
 * write there runs code as this user: so it is never Node's own default, which is below /tmp, and a folder that anybody else
 * can write to is not used. Without one, a start merely takes longer.
 */
export function keepCompiledCode(env: Invocation['env']): void {
  // Node has opened the one that is named there.
  if (env['NODE_COMPILE_CACHE'] !== undefined) return;
  const folder = compiledCodeFolder(env);
  if (folder !== undefined) enableCompileCache(folder);
}

/** Makes the folder where it is missing. @returns undefined where there is none that is this user's alone */
export function compiledCodeFolder(env: Invocation['env']): string | undefined {
  try {
    const caches = cachesOf(env);
    const ours = join(caches, 'svault');
    const folder = join(ours, 'compiled');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Who could write to one above could put another in its place. Only the first may be a link: it is the user's choice.
    const safe =
      isOwn(statSync(caches), 0o022) && isOwn(lstatSync(ours), 0o077) && isOwn(lstatSync(folder), 0o077);
    return safe ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** XDG Base Directory Specification; on macOS, where its programs keep what they can make anew. */
function cachesOf(env: Invocation['env']): string {
  const named = env['XDG_CACHE_HOME'];
  if (named !== undefined && isAbsolute(named)) return named;
  const home = env['HOME'] ?? homedir();
  return process.platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache');
}

/** @param forbidden permissions that nobody may have on it; false on Windows, where none of this can be seen */
const isOwn = (found: Stats, forbidden: number): boolean =>
  found.isDirectory() && found.uid === process.getuid?.() && (found.mode & forbidden) === 0;
