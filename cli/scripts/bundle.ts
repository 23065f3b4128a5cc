import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, bundleCommand } from '../../scripts/packing/bundle.ts';
import { noticesOf } from '../../scripts/packing/notices.ts';

const CLI = fileURLToPath(new URL('..', import.meta.url));
const KEYRING = '@napi-rs/keyring';

/**
 * Puts the client and all it depends on into two files, so that a start opens two instead of 200: `bin.js`, which says where
 * compiled code is kept, and `main.cjs` with all else, whose compiled code is. As CommonJS that takes less than as ES modules:
 * these read every member of each module of Node that they import. The keychain's native addon stays outside.
 *
 * @param into folder for both
 * @returns the licenses of the bundled packages
 */
export async function bundlePackage(into: string): Promise<string> {
  const files = await bundle(CLI, {
    entryPoints: ['src/main.ts'],
    outfile: join(into, 'main.cjs'),
    format: 'cjs',
    external: [KEYRING],
  });
  await bundleCommand(CLI, into, { main: './main.ts', becomes: './main.cjs' });
  return noticesOf(files);
}

/**
 * The same in one CommonJS file, which is what Node's single executables start with.
 * @param into the file
 * @returns the licenses of the bundled packages
 */
export async function bundleSingleFile(into: string): Promise<string> {
  const files = await bundle(CLI, {
    entryPoints: ['src/single-file.ts'],
    outfile: into,
    format: 'cjs',
    target: 'node24',
    alias: { [KEYRING]: './scripts/single-file/embedded-keyring.ts' },
  });
  return noticesOf(files);
}
