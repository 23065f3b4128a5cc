import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { SCREENS } from './screens.ts';

/** A file of the console as it is sent. */
export interface BuiltFile {
  readonly type: string;
  readonly plain: Buffer;
  /** The same, compressed when the console was built; undefined for what does not get smaller. */
  readonly brotli: Buffer | undefined;
}

/** The built console: its page, and what the page loads by the name of the file. */
export interface BuiltConsole {
  readonly index: BuiltFile;
  readonly assets: ReadonlyMap<string, BuiltFile>;
}

const INDEX = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Where it is built: below the package, for its sources as for the program that is built of them. */
export const CONSOLE_FOLDER = join(dirname(findPackageJSON(import.meta.url) ?? '.'), 'console/dist/site');

/** The path of a screen of the console; undefined where the console is not built. */
export type ConsolePath = (screen: '/' | (typeof SCREENS)[number]) => string | undefined;

/** For the pages that lead a person on. @param folder that `npm run build` of the console writes */
export const createConsolePath =
  (folder = CONSOLE_FOLDER): ConsolePath =>
  (screen) =>
    existsSync(join(folder, INDEX)) ? screen : undefined;

/**
 * Reads the built console into memory: a request then names an entry of a table, and no path of the disk.
 * @param folder that `npm run build` of the console writes
 * @returns undefined where nothing was built
 */
export function readBuiltConsole(folder: string): BuiltConsole | undefined {
  const page = join(folder, INDEX);
  if (!existsSync(page)) return undefined;
  const assets = join(folder, 'assets');
  const names = readdirSync(assets).filter((name) => TYPES[extname(name)] !== undefined);
  return {
    index: readFile(page),
    assets: new Map(names.map((name) => [name, readFile(join(assets, name))])),
  };
}

function readFile(path: string): BuiltFile {
  const compressed = `${path}.br`;
  return {
    type: TYPES[extname(path)] ?? '',
    plain: readFileSync(path),
    brotli: existsSync(compressed) ? readFileSync(compressed) : undefined,
  };
}
