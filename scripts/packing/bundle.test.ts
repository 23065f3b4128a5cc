import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect, onTestFinished, test } from 'vitest';
import { bundle } from './bundle.ts';

const ROOT = join(import.meta.dirname, '../..');

test('a package in CommonJS that is loaded when it is used has its names in a bundle that is split, as in the sources', async () => {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const source = `export const named = async () => (await import('yaml')).parse('[1, 2]');
    export const whole = async () => (await import('yaml')).default.parse('[3]');
    export const module = async () => typeof (await import('jose')).importJWK;`;
  await bundle(ROOT, {
    stdin: { contents: source, resolveDir: ROOT, sourcefile: 'source.js' },
    outdir: dir.path,
    format: 'esm',
    splitting: true,
    banner: {
      js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
    },
    outExtension: { '.js': '.mjs' },
  });
  for (const file of globSync(join(dir.path, '*.mjs')))
    expect(readFileSync(file, 'utf8'), 'the folder of the checkout').not.toContain(ROOT);
  const built = (await import(pathToFileURL(join(dir.path, 'stdin.mjs')).href)) as Record<
    'named' | 'whole' | 'module',
    () => Promise<unknown>
  >;
  expect([await built.named(), await built.whole(), await built.module()]).toEqual([[1, 2], [3], 'function']);
});

test('jsonc-parser is bundled with all of its parts', async () => {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const source = `import { parse } from 'jsonc-parser'; export const value = parse('[1, /* two */ 2,]');`;
  await bundle(ROOT, {
    stdin: { contents: source, resolveDir: ROOT, sourcefile: 'source.js' },
    outfile: join(dir.path, 'bundle.mjs'),
    format: 'esm',
  });
  expect(await import(pathToFileURL(join(dir.path, 'bundle.mjs')).href)).toMatchObject({ value: [1, 2] });
});
