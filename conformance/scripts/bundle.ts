import { fileURLToPath } from 'node:url';
import { bundle, bundleCommand } from '../../scripts/packing/bundle.ts';

const SUITE = fileURLToPath(new URL('..', import.meta.url));

/** Bundles the suite into a folder. @returns the files whose code is in it, for the licenses */
export async function bundleSuite(dist: string): Promise<readonly string[]> {
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
  return files;
}
