import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { repositoryProject } from '../src/webhook-project/compose-project.ts';
import { TUNNEL_METHODS } from '../src/webhook-project/tunnel-methods.ts';

/*
 * Writes compose/webhook/METHOD/ from the templates that `svault webhook init` uses too:
 *   node compose/scripts/write-webhook-projects.ts
 */
for (const method of TUNNEL_METHODS)
  for (const { path, text } of repositoryProject(method)) {
    const file = new URL(`../webhook/${method}/${path}`, import.meta.url).pathname;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, path.endsWith('.sh') ? 0o755 : 0o644);
  }
