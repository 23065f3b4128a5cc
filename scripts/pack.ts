/** `npm run pack [FOLDER [OUT]]`: packs one published package, or all of them, into OUT or dist/. Prints the tarballs. */
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pack, PUBLISHED } from './packing/pack.ts';

const [given, out = 'dist'] = process.argv.slice(2);
const folders = PUBLISHED.filter((name) => given === undefined || name === given);
if (folders.length === 0) {
  console.error(`usage: npm run pack [${PUBLISHED.join('|')} [OUT]]`);
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const work = mkdtempSync(join(resolve(out), '.pack-'));
try {
  for (const folder of folders) {
    const tarball = pack(folder, work);
    const target = join(resolve(out), basename(tarball));
    renameSync(tarball, target);
    console.log(target);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
