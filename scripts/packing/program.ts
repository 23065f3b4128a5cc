import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { bundle, inAscii, replaceCode } from './bundle.ts';
import { noticesOf } from './notices.ts';
import { withoutUnusedParts } from './unused-parts.ts';

const ROOT = dirname(dirname(import.meta.dirname));

/** Programs that ship as built JavaScript, by their folders. */
export const PROGRAMS = ['control-plane', 'webhook'] as const;
export type ProgramFolder = (typeof PROGRAMS)[number];

/** Where the checkout keeps what is built of a program. */
export const builtInto = (name: ProgramFolder): string => join(ROOT, name, 'dist');

/**
 * Installed beside a built program: native addons, WebAssembly, and what only a developer's log needs. `pg-native` is what pg
 * would use where it were installed.
 */
export const INSTALLED = [
  'better-sqlite3',
  '@node-rs/argon2',
  'libsodium-wrappers',
  'pino-pretty',
  'pg-native',
];

/** For packages in CommonJS that load modules of Node. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);";

/**
 * Builds a program: `main.js` with what every start loads, a chunk for each part that is loaded when it is used, the workers, and
 * the licenses of what they are made of. The code stays readable, so that a stack names the functions of the sources.
 *
 * @param into made where it is missing; files of an earlier build are replaced one by one, so that a start meanwhile finds each
 *   whole
 * @returns the files whose code is in it
 */
export async function buildProgram(name: ProgramFolder, into: string): Promise<readonly string[]> {
  mkdirSync(into, { recursive: true });
  removeInterrupted(into);
  const work = mkdtempSync(join(into, `${BUILDING}${process.pid}-`));
  try {
    const common = { external: INSTALLED, target: 'node24', outdir: work } as const;
    const folder = join(ROOT, name);
    const files = await bundle(folder, {
      ...common,
      entryPoints: ['src/main.ts'],
      format: 'esm',
      splitting: true,
      banner: { js: REQUIRE },
      plugins: [withoutUnusedParts()],
    });
    const ofWorkers = await bundle(folder, {
      ...common,
      entryPoints: globSync(['server-kit/src/*-worker.mjs', `${name}/src/**/*-worker.mjs`], {
        cwd: ROOT,
      }).map((path) => join(ROOT, path)),
      entryNames: '[name]',
      format: 'esm',
      outExtension: { '.js': '.mjs' },
    });
    const all = [...files, ...ofWorkers];
    writeFileSync(join(work, 'THIRD-PARTY-LICENSES.txt'), noticesOf(all));
    inAscii(work);
    replaceCode(work, into);
    return all;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** How the folder of a build that is going on begins; the id of its process follows. */
const BUILDING = '.building-';

/** Removes what builds left whose process has ended. */
function removeInterrupted(into: string): void {
  for (const folder of globSync(`${BUILDING}*`, { cwd: into }))
    if (!isRunning(Number(folder.slice(BUILDING.length).split('-')[0])))
      rmSync(join(into, folder), { recursive: true, force: true });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Copies the packages that a built program finds installed, with all that they depend on, so that its folder runs anywhere. Those of
 * an earlier build go.
 */
export function copyInstalled(into: string): void {
  rmSync(join(into, 'node_modules'), { recursive: true, force: true });
  for (const folder of installedFolders(INSTALLED, ROOT)) {
    const path = relative(ROOT, folder);
    // What lies inside another package comes along with that.
    if (path.lastIndexOf('node_modules') === 0) cpSync(folder, join(into, path), { recursive: true });
  }
}

/**
 * The folders of installed packages and of all that they depend on; one that is not there, such as an addon for another platform,
 * is left out.
 * @param from the folder that would import them
 */
export function installedFolders(names: readonly string[], from: string): readonly string[] {
  const done = new Set<string>();
  const add = (name: string, importer: string): void => {
    const folder = folderOf(name, importer);
    if (folder === undefined || done.has(folder)) return;
    done.add(folder);
    const { dependencies, optionalDependencies } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    ) as Record<'dependencies' | 'optionalDependencies', Record<string, string> | undefined>;
    for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) add(each, folder);
  };
  for (const name of names) add(name, from);
  return [...done];
}

/** Where Node finds a package; undefined where it is not installed, such as an addon for another platform. */
function folderOf(name: string, from: string): string | undefined {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(join(found, 'package.json'))) return found;
  }
  return undefined;
}
