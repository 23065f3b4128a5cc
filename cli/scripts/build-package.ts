/** `node cli/scripts/build-package.ts FOLDER`: builds the files of the npm package. */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundlePackage } from './bundle.ts';

const [into] = process.argv.slice(2);
if (into === undefined) throw new Error('give the folder to build into');
const notices = await bundlePackage(resolve(into, 'dist'));
writeFileSync(join(into, 'THIRD-PARTY-LICENSES.txt'), notices);
