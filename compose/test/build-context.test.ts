import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMPOSE } from './deployment.ts';

const lines = readFileSync(join(COMPOSE, '../.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

test('images are built only from manifests and sources, and the engine gets no other file', () => {
  expect(lines[0]).toBe('*');
  const taken = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  expect(taken).toContain('control-plane/src');
  const others = taken.filter(
    (path) =>
      !/^(?:[\w-]+\/)?(?:package|tsconfig)\.json$|^(?:package-lock\.json|LICENSE)$/.test(path) &&
      !/^[\w-]+\/src$|^control-plane\/console$|^compose\/images$|^scripts\/(?:packing|build-programs\.ts)$/.test(
        path,
      ),
  );
  expect(others).toEqual([]);
  // The last line that fits a path decides.
  const left = lines.slice(lines.findLastIndex((line) => line.startsWith('!')) + 1);
  expect(left).toEqual(
    expect.arrayContaining([
      '**/node_modules',
      '**/dist',
      '**/secrets',
      '**/.*',
      '**/*.key',
      '**/*.db*',
      '**/*.tar',
    ]),
  );
});
