/** `node scripts/pack.ts FOLDER OUT`: packs one published package into OUT, for a release. Prints the tarball. */
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pack, PUBLISHED } from './packing/pack.ts';

const [given, out] = process.argv.slice(2);
const folder = PUBLISHED.find((name) => name === given);
if (folder === undefined || out === undefined) {
  console.error(`usage: node scripts/pack.ts ${PUBLISHED.join('|')} OUT`);
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const work = mkdtempSync(join(resolve(out), '.pack-'));
try {
  const tarball = pack(folder, work);
  const target = join(resolve(out), basename(tarball));
  renameSync(tarball, target);
  console.log(target);
} finally {
  rmSync(work, { recursive: true, force: true });
}
