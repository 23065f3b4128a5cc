/**
 * `node cli/scripts/build-single-file.ts [PLATFORM-ARCH…] [--out FOLDER]`: builds svault as single files that need no Node, for
 * Linux and macOS on x64 and arm64; without names, all four. They land in cli/dist/single-file.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildSingleFile } from './single-file/build.ts';
import { TARGETS, type TargetName } from './single-file/targets.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string', default: fileURLToPath(new URL('../dist/single-file', import.meta.url)) },
  },
});
const names = Object.keys(TARGETS) as TargetName[];
const unknown = positionals.filter((name) => !names.some((each) => each === name));
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; there are ${names.join(', ')}`);
for (const name of names.filter((each) => positionals.length === 0 || positionals.includes(each)))
  console.log(await buildSingleFile(name, values.out));
