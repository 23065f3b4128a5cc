/** `node conformance/scripts/build-package.ts FOLDER`: builds the files of the npm package. */
import { cpSync, globSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, bundleCommand } from '../../scripts/packing/bundle.ts';
import { noticesOf } from '../../scripts/packing/notices.ts';
import { copyDeclarations } from '../../scripts/packing/copy-declarations.ts';

const SUITE = fileURLToPath(new URL('..', import.meta.url));
const VECTORS = fileURLToPath(new URL('../../shared/vectors/', import.meta.url));

const [into] = process.argv.slice(2);
if (into === undefined) throw new Error('give the folder to build into');
const dist = resolve(into, 'dist');
// The entries share their classes, which callers compare by, so each is in one file.
const files = await bundle(SUITE, {
  entryPoints: ['src/main.ts', 'src/index.ts', 'src/vitest.ts'],
  outdir: dist,
  format: 'esm',
  splitting: true,
  // The types name zod, and vitest is the user's own.
  external: ['zod', 'vitest'],
  // For packages in CommonJS that load modules of Node.
  banner: {
    js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
  },
});
await bundleCommand(SUITE, dist, { main: './main.ts', becomes: './main.js' });
copyDeclarations('conformance', ['index', 'vitest'], dist);
for (const file of globSync('*.json', { cwd: VECTORS }))
  cpSync(join(VECTORS, file), join(into, 'vectors', file));
writeFileSync(join(into, 'THIRD-PARTY-LICENSES.txt'), noticesOf(files));
