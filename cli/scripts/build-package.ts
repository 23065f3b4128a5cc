/**
 * `node cli/scripts/build-package.ts [FOLDER]`: builds the files of the npm package; without FOLDER those that `./svault` of this checkout
 * starts.
 */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { noticesOf } from '../../scripts/packing/notices.ts';
import { bundlePackage } from './bundle.ts';

const [into] = process.argv.slice(2);
const folder = resolve(into ?? join(import.meta.dirname, '../dist/client'));
const files = await bundlePackage(join(folder, 'dist'), { inCheckout: into === undefined });
writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), noticesOf(files));
