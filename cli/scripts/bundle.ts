import { globSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, bundleCommand, inAscii, replaceCode } from '../../scripts/packing/bundle.ts';

const CLI = fileURLToPath(new URL('..', import.meta.url));
const KEYRING = '@napi-rs/keyring';

/** `import('node:http')` would read every member of it, one of which loads a second HTTP client; `require` reads none. */
const COMMON_JS = { format: 'cjs', supported: { 'dynamic-import': false } } as const;

/**
 * Puts the client and all it depends on into a folder: `bin.js`, which says where compiled code is kept, `main.js` with what every
 * start loads, and a chunk for each part that is loaded when it is used. What a command does not use is neither read nor
 * compiled, and Node keeps the compiled code of each chunk. As CommonJS a start takes less than as ES modules: these read every
 * member of each module of Node that they import. The keychain's native addon stays outside.
 *
 * @param into folder for all of them; other code in it goes
 * @param options.inCheckout it stays beside its sources, from which `webhook init` has the image built
 * @returns the files whose code is in it, for the licenses
 */
export async function bundlePackage(
  into: string,
  options: { readonly inCheckout: boolean },
): Promise<readonly string[]> {
  mkdirSync(into, { recursive: true });
  const work = mkdtempSync(join(into, '.building-'));
  const [split, built] = [join(work, 'split'), join(work, 'built')];
  try {
    // The package around it is of ES modules. Their loader alone takes as long as the client, and gives all of a CommonJS module as
    // its default export.
    for (const folder of [split, built]) {
      mkdirSync(folder);
      writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
    }
    // Only ES modules are split; each is turned into CommonJS by itself.
    const files = await bundle(CLI, {
      entryPoints: ['src/main.ts'],
      outdir: split,
      format: 'esm',
      splitting: true,
      external: [KEYRING],
      ...(options.inCheckout && {
        define: { 'import.meta.dirname': JSON.stringify(join(CLI, 'src/webhook-project')) },
      }),
    });
    await bundle(CLI, {
      entryPoints: globSync(join(split, '*.js')),
      outdir: built,
      bundle: false,
      ...COMMON_JS,
    });
    await bundleCommand(CLI, built, { main: './main.ts', becomes: './main.js', ...COMMON_JS });
    inAscii(built);
    replaceCode(built, into);
    // One that stays is as new as the sources all the same: `./svault` compares them.
    utimesSync(join(into, 'bin.js'), new Date(), new Date());
    return files;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * The same in one CommonJS file, which is what Node's single executables start with.
 * @param into the file
 * @returns the files whose code is in it, for the licenses
 */
export async function bundleSingleFile(into: string): Promise<readonly string[]> {
  return bundle(CLI, {
    entryPoints: ['src/single-file.ts'],
    outfile: into,
    ...COMMON_JS,
    target: 'node24',
    alias: { [KEYRING]: './scripts/single-file/embedded-keyring.ts' },
  });
}
