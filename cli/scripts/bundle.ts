import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, bundleCommand } from '../../scripts/packing/bundle.ts';
import { noticesOf } from '../../scripts/packing/notices.ts';

const CLI = fileURLToPath(new URL('..', import.meta.url));
const KEYRING = '@napi-rs/keyring';

/** `import('node:http')` would read every member of it, one of which loads a second HTTP client; `require` reads none. */
const COMMON_JS = { format: 'cjs', supported: { 'dynamic-import': false } } as const;

/**
 * Puts the client and all it depends on into two files, so that a start opens two instead of 200: `bin.js`, which says where
 * compiled code is kept, and `main.cjs` with all else, whose compiled code is. As CommonJS that takes less than as ES modules:
 * these read every member of each module of Node that they import. The keychain's native addon stays outside.
 *
 * @param into folder for both
 * @param options.inCheckout it stays beside its sources, from which `webhook init` has the image built
 * @returns the licenses of the bundled packages
 */
export async function bundlePackage(
  into: string,
  options: { readonly inCheckout: boolean },
): Promise<string> {
  const files = await bundle(CLI, {
    entryPoints: ['src/main.ts'],
    outfile: join(into, 'main.cjs'),
    ...COMMON_JS,
    external: [KEYRING],
    ...(options.inCheckout && {
      define: { 'import.meta.dirname': JSON.stringify(join(CLI, 'src/webhook-project')) },
    }),
  });
  await bundleCommand(CLI, into, { main: './main.ts', becomes: './main.cjs', ...COMMON_JS });
  // The package is of ES modules, whose loader alone takes as long as the client.
  writeFileSync(join(into, 'package.json'), '{ "type": "commonjs" }\n');
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
    ...COMMON_JS,
    target: 'node24',
    alias: { [KEYRING]: './scripts/single-file/embedded-keyring.ts' },
  });
  return noticesOf(files);
}
