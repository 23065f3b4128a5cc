/**
 * `node scripts/release/build.ts FOLDER [--without-single-files]`: builds what a release has, from the checkout that this file is in:
 * packages and single files, and a bill of materials of each and of each image. Ends with 1 where
 * a license was not reviewed.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildSingleFile } from '../../cli/scripts/single-file/build.ts';
import { TARGETS, type TargetName } from '../../cli/scripts/single-file/targets.ts';
import { pack, PUBLISHED, readManifest, ROOT } from '../packing/pack.ts';
import { buildProgram, type ProgramFolder } from '../packing/program.ts';
import { componentsOf } from './components.ts';
import { licenseProblems } from './licenses.ts';
import { partsOfConsole, partsOfPackage, partsOfProgram, partsOfSetup, partsOfSingleFile } from './parts.ts';
import { sbomOf } from './sbom.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'without-single-files': { type: 'boolean', default: false } },
});
const [given] = positionals;
if (given === undefined) throw new Error('give the folder to build into');
const out = resolve(given);
const { version } = readManifest('cli');
const work = join(out, '.work');
const problems = new Set<string>();
for (const folder of ['npm', 'sbom', 'single-file', '.work'])
  mkdirSync(join(out, folder), { recursive: true });
try {
  await buildPackages();
  await describeImages();
  if (!values['without-single-files']) await buildSingleFiles();
} finally {
  rmSync(work, { recursive: true, force: true });
}
for (const problem of problems) console.error(problem);
if (problems.size > 0) process.exitCode = 1;

async function writeSbom(
  file: string,
  subject: Parameters<typeof sbomOf>[0],
  parts: readonly string[],
): Promise<void> {
  const components = componentsOf(parts);
  for (const problem of licenseProblems(components)) problems.add(problem);
  writeFileSync(join(out, 'sbom', `${file}.cdx.json`), await sbomOf(subject, components));
}

async function buildPackages(): Promise<void> {
  for (const folder of PUBLISHED) {
    const tarball = pack(folder, work);
    renameSync(tarball, join(out, 'npm', basename(tarball)));
    const { name } = readManifest(folder);
    await writeSbom(basename(tarball, '.tgz'), { name, version, type: 'npm' }, await partsOfPackage(folder));
  }
}

/** Only the bills of materials: images take an engine. */
async function describeImages(): Promise<void> {
  execFileSync('npm', ['run', 'build', '--workspace', 'control-plane/console'], { cwd: ROOT, stdio: 'pipe' });
  const [controlPlane, webhook] = [await partsOf('control-plane'), await partsOf('webhook')];
  const images = {
    'svault-control-plane': [...controlPlane, ...partsOfConsole()],
    'svault-webhook': webhook,
    'svault-setup': [...partsOfSetup(), ...controlPlane, ...webhook],
  };
  for (const [name, parts] of Object.entries(images))
    await writeSbom(`${name}-image`, { name, version, type: 'oci' }, parts);
}

/** @returns the folders of the packages in the program */
async function partsOf(name: ProgramFolder): Promise<readonly string[]> {
  return partsOfProgram(await buildProgram(name, join(work, name)));
}

async function buildSingleFiles(): Promise<void> {
  for (const name of Object.keys(TARGETS) as TargetName[]) {
    await buildSingleFile(name, join(out, 'single-file'));
    const file = `svault-${name}`;
    await writeSbom(file, { name: file, version, type: 'file' }, await partsOfSingleFile(name));
  }
}
