/**
 * `npm run release -- --dry-run [--out FOLDER] [--without-single-files] [--builder-id URI]`: builds what a release of this commit has, twice
 * in two folders, compares both, and writes one with bills of materials, checksums and provenance into FOLDER. Publishes nothing. Images
 * are built and compared too, where a container engine answers.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readManifest, ROOT } from '../packing/pack.ts';
import { checkoutProblems, git, workspaceFolders } from './checks.ts';
import { checksumLines, checksumsOf, differences, sha256Of } from './checksums.ts';
import { differencesOfBuilds, engineProblem } from './images.ts';
import { nextSteps } from './next-steps.ts';
import { provenanceOf } from './provenance.ts';

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    'without-single-files': { type: 'boolean', default: false },
    'builder-id': { type: 'string', default: 'urn:svault:dry-run' },
    out: { type: 'string', default: join(ROOT, 'dist/release') },
  },
});
const { version } = readManifest('cli');
if (!values['dry-run'])
  stop([
    'Only the release pipeline publishes: it has the credentials. Run npm run release -- --dry-run; it prints the commands.',
  ]);
const problems = checkoutProblems(version);
if (problems.length > 0) stop(problems);

const out = resolve(values.out);
mkdirSync(dirname(out), { recursive: true });
const work = mkdtempSync(join(dirname(out), '.release-'));
try {
  const checkouts = [checkOut('one'), checkOut('another-folder')] as const;
  const [first, second] = [build(checkouts[0]), build(checkouts[1])];
  const checksums = checksumsOf(first);
  const differing = differences(checksums, checksumsOf(second));
  if (differing.length > 0) throw new Error(`two builds differ in ${differing.join(', ')}`);
  const withoutEngine = engineProblem();
  const inImages = withoutEngine === undefined ? compareImages(checkouts) : [];
  if (inImages.length > 0) throw new Error(`two builds differ:\n${inImages.join('\n')}`);
  describe(first, checksums);
  rmSync(out, { recursive: true, force: true });
  renameSync(first, out);
  console.log(`Two builds of ${version} are the same: ${checksums.size} files in ${out}`);
  console.log(
    withoutEngine === undefined
      ? 'Two builds of each image are the same on the same base image, but for times that the pipeline writes anew'
      : `Images were not compared, since no container engine answers (${withoutEngine}). Start Docker, or set DOCKER_HOST, and run it again.`,
  );
  console.log(nextSteps(version, out, [...checksums.keys()]));
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Ends with 1. */
function stop(lines: readonly string[]): never {
  for (const line of lines) console.error(line);
  process.exit(1);
}

/** The commit in a folder that has nothing else, with what is installed. @returns the folder */
function checkOut(name: string): string {
  const checkout = join(work, name);
  mkdirSync(checkout);
  const archive = join(work, 'source.tar');
  git('archive', '--output', archive, 'HEAD');
  execFileSync('tar', ['-xf', archive, '-C', checkout]);
  for (const folder of workspaceFolders())
    if (existsSync(join(ROOT, folder, 'node_modules'))) copyModules(folder, checkout);
  return checkout;
}

/** @returns where the artefacts are */
function build(checkout: string): string {
  const built = `${checkout}.built`;
  const options = values['without-single-files'] ? ['--without-single-files'] : [];
  execFileSync('node', ['scripts/release/build.ts', built, ...options], { cwd: checkout, stdio: 'inherit' });
  return built;
}

/** Builds images from both checkouts, one after the other. @returns where they differ */
function compareImages(checkouts: readonly [string, string]): readonly string[] {
  const folder = join(work, 'images');
  mkdirSync(folder);
  return differencesOfBuilds(checkouts, { newest: Number(git('log', '-1', '--format=%ct')), work: folder });
}

/** By hard links where the file system can: builds replace files of node_modules and change none. */
function copyModules(folder: string, checkout: string): void {
  const from = join(ROOT, folder, 'node_modules');
  const to = join(checkout, folder, 'node_modules');
  try {
    execFileSync('cp', ['-al', from, to], { stdio: 'pipe' });
  } catch {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  }
}

/** Adds the checksums and the provenance of the artefacts. */
function describe(folder: string, checksums: ReadonlyMap<string, string>): void {
  const sums = checksumLines(checksums);
  writeFileSync(join(folder, 'SHA256SUMS'), sums);
  const statement = provenanceOf(
    {
      repository: git('remote').split('\n').includes('origin')
        ? git('remote', 'get-url', 'origin')
        : undefined,
      commit: git('rev-parse', 'HEAD'),
      builderId: values['builder-id'],
      parameters: { version, withoutSingleFiles: values['without-single-files'] },
    },
    new Map([...checksums, ['SHA256SUMS', sha256Of(sums)]]),
  );
  writeFileSync(join(folder, 'provenance.intoto.json'), `${JSON.stringify(statement, null, 2)}\n`);
}
