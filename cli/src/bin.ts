#!/usr/bin/env node
import * as nodeModules from 'node:module';
import { privateCacheFolder } from './private-cache-folder.ts';

// Node keeps the code that it compiles of this program, which makes every later start faster. Code in that folder runs as
// this user, so it is one that no other user may write, never Node's default below /tmp; without one, a start takes longer, as in Node 20,
// which keeps none.
if (process.env['NODE_COMPILE_CACHE'] === undefined && 'enableCompileCache' in nodeModules) {
  const folder = privateCacheFolder(process.env, 'compiled');
  if (folder !== undefined) nodeModules.enableCompileCache(folder);
}
// Loaded after that, so that its code is kept.
void import('./main.ts').then(({ main }) => main());
