import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Both are Node's ("Single executable applications"): what it looks for in itself, and what tells it that there is something. */
const RESOURCE = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const MACH_O_SEGMENT = 'NODE_SEA';

const POSTJECT = fileURLToPath(import.meta.resolve('postject/dist/cli.js'));

export interface Ingredients {
  /** CommonJS. */
  readonly script: string;
  /** Files by the names that the script knows them by. */
  readonly assets: Readonly<Record<string, string>>;
  /** Node of this machine, of the version of `node`. */
  readonly preparer: string;
  /** Node of the target. */
  readonly node: string;
}

/**
 * Puts a script and its assets into a copy of a Node. Neither a start-up snapshot nor compiled code goes along: Node's
 * documentation excludes both where the target is another platform, and one that all targets share is tested with one
 * of them. Node 26 could do this alone, by `--build-sea`; what that made for macOS on Intel crashed, and this way did
 * not (nodejs/node issue 65479).
 * @param work an existing folder for what lies between
 */
export function inject({ script, assets, preparer, node }: Ingredients, work: string, into: string): void {
  const blob = join(work, 'blob');
  // By its name alone: the path goes along, and would tell where it was built.
  const main = basename(script);
  writeFileSync(
    join(dirname(script), 'sea.json'),
    JSON.stringify({ main, output: blob, assets, disableExperimentalSEAWarning: true }),
  );
  execFileSync(preparer, ['--experimental-sea-config', 'sea.json'], { cwd: dirname(script), stdio: 'pipe' });
  copyFileSync(node, into);
  const options = ['--sentinel-fuse', FUSE, '--macho-segment-name', MACH_O_SEGMENT];
  execFileSync(process.execPath, [POSTJECT, into, RESOURCE, blob, ...options], {
    stdio: 'pipe',
  });
}
