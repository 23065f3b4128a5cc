import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type BuildOptions, type Plugin } from 'esbuild';

/** Oldest Node that the published commands run on; their manifests say it as well. */
const OLDEST_NODE = 20;

/** The namespace of modules that stand before a package in CommonJS. */
const COMMON_JS_LATER = 'common-js-later';

/** Stops a Node that is too old for the code behind it, with one line in place of a stack. */
const CHECK_NODE = `if (Number(process.versions.node.split('.')[0]) < ${OLDEST_NODE}) {
  console.error('This needs Node.js ${OLDEST_NODE} or newer, and this is ' + process.version + ': https://nodejs.org/en/download');
  process.exit(1);
}`;

/**
 * Bundles code with what it depends on, readable for an audit of the installed package.
 * @param folder of the package
 * @returns the files whose code is in it, for the licenses
 */
export async function bundle(folder: string, options: BuildOptions): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: folder,
    bundle: true,
    platform: 'node',
    target: `node${OLDEST_NODE}`,
    metafile: true,
    logLevel: 'warning',
    minify: false,
    legalComments: 'none',
    // What is bundled has no sources beside it, which this would lead to.
    define: { 'import.meta.dirname': 'undefined' },
    ...options,
    plugins: [englishOnly(), modulesOfJsonc(), namesOfCommonJs(), ...(options.plugins ?? [])],
  });
  const made = Object.values(metafile?.outputs ?? {}).flatMap(({ inputs }) => Object.entries(inputs));
  return made
    .filter(([path, { bytesInOutput }]) => bytesInOutput > 0 && !path.startsWith(`${COMMON_JS_LATER}:`))
    .map(([path]) => join(folder, path));
}

/**
 * Bundles `src/bin.ts`, which looks at the version of Node before it loads the rest.
 * @param options.main the module that it loads, as it is written there
 * @param options.becomes the file that has it beside the bundle
 */
export async function bundleCommand(
  folder: string,
  into: string,
  { main, becomes, ...options }: { readonly main: string; readonly becomes: string } & BuildOptions,
): Promise<void> {
  const mainAsFile: Plugin = {
    name: 'main-as-file',
    setup: ({ onResolve }) => {
      onResolve({ filter: /^\.\// }, ({ path }) =>
        path === main ? { path: becomes, external: true } : undefined,
      );
    },
  };
  await bundle(folder, {
    entryPoints: ['src/bin.ts'],
    outfile: join(into, 'bin.js'),
    format: 'esm',
    banner: { js: CHECK_NODE },
    plugins: [mainAsFile],
    ...options,
  });
}

/**
 * A chunk that a dynamic import loads has only the default export of a package in CommonJS. This gives it the names that Node
 * gives it, which the sources use.
 */
function namesOfCommonJs(): Plugin {
  return {
    name: 'names-of-common-js',
    setup: ({ initialOptions, onResolve, onLoad, resolve }) => {
      const root = initialOptions.absWorkingDir ?? '';
      onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir }) => {
        if (kind !== 'dynamic-import' || resolveDir.includes('node_modules')) return undefined;
        const found = await resolve(path, { kind: 'import-statement', resolveDir });
        if (found.external || found.errors.length > 0 || !found.path.includes('node_modules')) return found;
        const module = (await import(pathToFileURL(found.path).href)) as object;
        if (!('module.exports' in module)) return found;
        const names = Object.keys(module).filter(
          (name) => /^[a-zA-Z_$][\w$]*$/.test(name) && name !== 'default',
        );
        // Its name is in the code, which must not depend on where the checkout is.
        return {
          path: relative(root, found.path),
          namespace: COMMON_JS_LATER,
          pluginData: { path: found.path, names },
        };
      });
      onLoad({ filter: /^/, namespace: COMMON_JS_LATER }, ({ pluginData }) => {
        const { path, names } = pluginData as { readonly path: string; readonly names: readonly string[] };
        return {
          contents: [
            `import whole from ${JSON.stringify(path)};`,
            'export default whole;',
            `export const { ${names.join(', ')} } = whole;`,
          ].join('\n'),
          resolveDir: dirname(path),
        };
      });
    },
  };
}

/** The main file of jsonc-parser hides from a bundler what it requires; it has the same as ES modules. */
function modulesOfJsonc(): Plugin {
  return {
    name: 'modules-of-jsonc',
    setup: ({ onResolve, resolve }) => {
      onResolve({ filter: /^jsonc-parser$/ }, ({ path, kind, resolveDir }) =>
        resolve(`${path}/lib/esm/main.js`, { kind, resolveDir }),
      );
    },
  };
}

/** zod brings its messages in 50 languages; the commands show none of them. */
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

/**
 * Escapes other characters in the code of a folder: one of them doubles what a file takes in memory. They are in comments and
 * templates, where an escape means the same.
 */
export function inAscii(folder: string): void {
  for (const file of globSync('*.{js,mjs}', { cwd: folder })) {
    const path = join(folder, file);
    const escaped = readFileSync(path, 'utf8').replaceAll(
      /[^\0-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    writeFileSync(path, escaped);
  }
}

/**
 * Moves the files of one folder into another, whose other code goes: one by one, so that a start meanwhile finds each whole. One
 * that is the same stays.
 */
export function replaceCode(from: string, into: string): void {
  const built = globSync('*', { cwd: from });
  for (const file of built) {
    const target = join(into, file);
    if (!existsSync(target) || !readFileSync(join(from, file)).equals(readFileSync(target)))
      renameSync(join(from, file), target);
  }
  for (const file of globSync('*.{js,cjs,mjs}', { cwd: into }).filter((each) => !built.includes(each)))
    rmSync(join(into, file), { force: true });
}
