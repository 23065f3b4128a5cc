import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { noticesOf } from './notices.ts';

const CLI = fileURLToPath(new URL('..', import.meta.url));
const KEYRING = '@napi-rs/keyring';

const COMMON = {
  absWorkingDir: CLI,
  bundle: true,
  platform: 'node',
  metafile: true,
  logLevel: 'warning',
  // Readable for an audit of the installed package.
  minify: false,
  legalComments: 'none',
  plugins: [englishOnly()],
} as const satisfies BuildOptions;

/**
 * Puts the client and all it depends on into two files, so that a start opens two instead of 200: `bin.js`, which says where
 * compiled code is kept, and `main.cjs` with all else, whose compiled code is. As CommonJS that takes less than as ES modules:
 * these read every member of each module of Node that they import. The keychain's native addon stays outside.
 *
 * @param into folder for both
 * @returns the licenses of the bundled packages
 */
export async function bundlePackage(into: string): Promise<string> {
  const target = 'node22.18';
  const { metafile } = await build({
    ...COMMON,
    entryPoints: ['src/main.ts'],
    outfile: join(into, 'main.cjs'),
    format: 'cjs',
    target,
    external: [KEYRING],
  });
  await build({
    ...COMMON,
    entryPoints: ['src/bin.ts'],
    outfile: join(into, 'bin.js'),
    format: 'esm',
    target,
    plugins: [mainBesideIt()],
  });
  return noticesOf(metafile, CLI);
}

/**
 * The same in one CommonJS file, which is what Node's single executables start with.
 * @param into the file
 * @returns the licenses of the bundled packages
 */
export async function bundleSingleFile(into: string): Promise<string> {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: ['src/single-file.ts'],
    outfile: into,
    format: 'cjs',
    target: 'node24',
    alias: { [KEYRING]: './scripts/single-file/embedded-keyring.ts' },
  });
  return noticesOf(metafile, CLI);
}

/** The module that `bin.ts` loads later stays a separate file. */
function mainBesideIt(): Plugin {
  return {
    name: 'main-as-file',
    setup: ({ onResolve }) => {
      onResolve({ filter: /^\.\/main\.ts$/ }, () => ({ path: './main.cjs', external: true }));
    },
  };
}

/** zod brings its messages in 50 languages; the client shows none of them. */
function englishOnly(): Plugin {
  return {
    name: 'english-only',
    setup: ({ onLoad }) => {
      onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
        contents: "export { default as en } from './en.js';",
      }));
    },
  };
}
