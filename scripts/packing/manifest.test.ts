import { expect, test } from 'vitest';
import { publishedManifest } from './manifest.ts';

test('every entry points at compiled code, and fields that only the workspace needs are removed', () => {
  expect(
    publishedManifest({
      name: 'a',
      version: '1.0.0',
      exports: { '.': './src/index.ts', './b': './src/b/index.ts', './package.json': './package.json' },
      bin: { a: './src/bin.js' },
      files: ['dist'],
      dependencies: { zod: '1' },
      devDependencies: { vitest: '1' },
      scripts: { test: 'vitest' },
    }),
  ).toEqual({
    name: 'a',
    version: '1.0.0',
    exports: {
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './b': { types: './dist/b/index.d.ts', default: './dist/b/index.js' },
      './package.json': './package.json',
    },
    bin: { a: './dist/bin.js' },
    files: ['dist'],
    dependencies: { zod: '1' },
  });
});

test('a package that bundles its dependencies installs only the optional ones', () => {
  const manifest = {
    name: 'a',
    version: '1.0.0',
    dependencies: { zod: '1', yaml: '2' },
    optionalDependencies: { b: '1' },
  };
  const published = { name: 'a', version: '1.0.0', optionalDependencies: { b: '1' } };
  expect(publishedManifest(manifest, [])).toEqual(published);
  expect(publishedManifest(manifest, ['zod'])).toEqual({ ...published, dependencies: { zod: '1' } });
});
