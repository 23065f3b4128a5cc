/**
 * `npm run build:programs [PROGRAM [FOLDER]]`: builds a program, or each, into its `dist/`; or into FOLDER, which then has all that the
 * program needs but Node.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildProgram, builtInto, copyInstalled, PROGRAMS } from './packing/program.ts';

const [given, into] = process.argv.slice(2);
const names = PROGRAMS.filter((name) => given === undefined || name === given);
if (names.length === 0) {
  console.error(`usage: npm run build:programs [${PROGRAMS.join('|')} [FOLDER]]`);
  process.exit(2);
}
// What lies in FOLDER of an earlier build is removed, packages among it.
if (into !== undefined && existsSync(join(into, 'package.json'))) {
  console.error(`${into} is the folder of a package; name one for what is built`);
  process.exit(2);
}
await Promise.all(
  names.map((name) => buildProgram(name, into === undefined ? builtInto(name) : resolve(into))),
);
if (into !== undefined) copyInstalled(resolve(into));
