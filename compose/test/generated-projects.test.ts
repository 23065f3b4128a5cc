import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryProject } from '../src/webhook-project/compose-project.ts';
import { SCALE_SECRETS_SCRIPT } from '../src/webhook-project/make-secrets.ts';
import { TUNNEL_METHODS } from '../src/webhook-project/tunnel-methods.ts';
import { COMPOSE } from './deployment.ts';

/** What a copy of the repository that somebody works in has besides. */
const OWN = /(^|\/)(\.env$|secrets|backups|tailscale-state|compose\.override\.yaml$)/;

it.each(TUNNEL_METHODS)(
  'compose/webhook/%s is what its templates say (run compose/scripts/write-projects.ts)',
  (method) => {
    const folder = join(COMPOSE, 'webhook', method);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (path) => !OWN.test(path) && statSync(join(folder, path)).isFile(),
    );
    const there = files.map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }));
    const byPath = (one: { path: string }, two: { path: string }): number => (one.path < two.path ? -1 : 1);
    expect(there.toSorted(byPath)).toEqual(repositoryProject(method).toSorted(byPath));
    expect(statSync(join(folder, 'make-secrets.sh')).mode & 0o111).toBe(0o111);
  },
);

it('compose/scale/make-secrets.sh is the output of its template (run compose/scripts/write-projects.ts)', () => {
  const script = join(COMPOSE, 'scale', 'make-secrets.sh');
  expect(readFileSync(script, 'utf8')).toBe(SCALE_SECRETS_SCRIPT);
  expect(statSync(script).mode & 0o111).toBe(0o111);
});
