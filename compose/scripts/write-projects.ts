import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { repositoryProject } from '../src/webhook-project/compose-project.ts';
import { SCALE_SECRETS_SCRIPT } from '../src/webhook-project/make-secrets.ts';
import { TUNNEL_METHODS } from '../src/webhook-project/tunnel-methods.ts';

/*
 * Writes compose/webhook/METHOD/ from the templates that `svault webhook init` uses too, and compose/scale/make-secrets.sh:
 *   node compose/scripts/write-projects.ts
 */
const files = [
  ...TUNNEL_METHODS.flatMap((method) =>
    repositoryProject(method).map(({ path, text }) => ({ path: `webhook/${method}/${path}`, text })),
  ),
  { path: 'scale/make-secrets.sh', text: SCALE_SECRETS_SCRIPT },
];
for (const { path, text } of files) {
  const file = new URL(`../${path}`, import.meta.url).pathname;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, path.endsWith('.sh') ? 0o755 : 0o644);
}
