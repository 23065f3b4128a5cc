/** `node conformance/scripts/build-package.ts FOLDER`: builds the files of the npm package. */
import { cpSync, globSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noticesOf } from '../../scripts/packing/notices.ts';
import { copyDeclarations } from '../../scripts/packing/copy-declarations.ts';
import { bundleSuite } from './bundle.ts';

const VECTORS = fileURLToPath(new URL('../../shared/vectors/', import.meta.url));

const [into] = process.argv.slice(2);
if (into === undefined) throw new Error('give the folder to build into');
const dist = resolve(into, 'dist');
const files = await bundleSuite(dist);
copyDeclarations('conformance', ['index', 'vitest'], dist);
for (const file of globSync('*.json', { cwd: VECTORS }))
  cpSync(join(VECTORS, file), join(into, 'vectors', file));
writeFileSync(join(into, 'THIRD-PARTY-LICENSES.txt'), noticesOf(files));
