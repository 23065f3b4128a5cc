import { enableCompileCache } from 'node:module';
import type { Invocation } from './invocation.ts';
import { privateCacheFolder } from './private-cache-folder.ts';

/**
 * Has Node keep what it compiles of this program in a folder of this user, which makes every later start faster. Whoever can
 * write there runs code as this user: so it is never Node's own default, which is below /tmp. Without a folder that is safe, a
 * start merely takes longer.
 */
export function keepCompiledCode(env: Invocation['env']): void {
  // Node has opened the one that is named there.
  if (env['NODE_COMPILE_CACHE'] !== undefined) return;
  const folder = privateCacheFolder(env, 'compiled');
  if (folder !== undefined) enableCompileCache(folder);
}
