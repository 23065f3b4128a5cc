/*
 * What a .js file that starts the .ts file of the same name loads first: says in one line what is missing where Node would
 * show a stack. In JavaScript that any Node reads.
 */
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** @param {string} path */
const fromHere = (path) => relative(process.cwd(), path);

/** @param {string} problem */
function end(problem) {
  process.stderr.write(`svault: ${problem}\n`);
  process.exit(1);
}

if (!existsSync(`${root}node_modules`)) end(`its packages are not installed: run npm ci in ${root}`);
if (!process.features.typescript)
  end(
    `Node ${process.version} is too old for its sources, which need 22.18 or newer. Use the one among its packages: ` +
      `${fromHere(`${root}node_modules/.bin/node`)} ${fromHere(process.argv[1] ?? '')}`,
  );
