import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CONTROL_PLANE_ARROWS, WEBHOOK_ARROWS } from './lint/arrows.ts';

const page = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8');

/** Folder → folders that it may import, of the table that links into a package. */
const tableOf = (server: string): Record<string, readonly string[]> =>
  Object.fromEntries(
    [
      ...page.matchAll(
        new RegExp(`^\\| \\[\`([\\w-]+)/\`\\]\\(\\.\\./${server}/src/[^|]*\\|[^|]*\\| ([^|]*) \\|$`, 'gm'),
      ),
    ].map(([, folder = '', allowed = '']) => [
      folder,
      allowed === 'nothing' ? [] : allowed.split(', ').toSorted(),
    ]),
  );

test.each([
  ['control-plane', CONTROL_PLANE_ARROWS],
  ['webhook', WEBHOOK_ARROWS],
])('docs/architecture.md has the arrows of %s that lint enforces', (server, arrows) => {
  const folders = Object.entries(arrows).map(([folder, allowed]) => [
    folder,
    allowed.filter((name) => !name.endsWith('.ts')).toSorted(),
  ]);
  expect(tableOf(server)).toEqual(Object.fromEntries(folders));
});
