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
  // Whoever audits what is installed can read it.
  minify: false,
  legalComments: 'none',
  plugins: [englishOnly()],
} as const satisfies BuildOptions;

/**
 * Puts the client and all it depends on into a few files of ES modules: a start then opens 5 files instead of 200. Each command's
 * own part is loaded when it runs, as in the sources. The keychain's native addon stays outside.
 *
 * @param into folder for `bin.js` and its parts
 * @returns the licenses of what is in them
 */
export async function bundlePackage(into: string): Promise<string> {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: ['src/bin.ts'],
    outdir: into,
    chunkNames: 'parts/[name]-[hash]',
    format: 'esm',
    splitting: true,
    target: 'node22.18',
    external: [KEYRING],
    // CommonJS among the dependencies asks for Node's own modules by `require`.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
    },
  });
  return noticesOf(metafile, CLI);
}

/**
 * The same in one CommonJS file, which is what Node's single executables start with.
 *
 * @param into the file
 * @returns the licenses of what is in it
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
