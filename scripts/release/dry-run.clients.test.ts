import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../packing/pack.ts';
import { workspaceFolders } from './checks.ts';
import { checksumLines, checksumsOf, sha256Of } from './checksums.ts';

// In the file system of node_modules, which is linked there. Git, vitest and the linter leave dist/ out.
mkdirSync(join(ROOT, 'dist'), { recursive: true });
const dir = mkdtempSync(join(ROOT, 'dist/.release-test-'));
const [checkout, out] = [join(dir, 'checkout'), join(dir, 'release')];
const NOT_COMMITTED = ['node_modules', 'dist', '.git', '.svault', 'coverage'];
let commit: string;

/** The files of this checkout, as they are, committed in a repository of the test. */
beforeAll(() => {
  mkdirSync(checkout);
  for (const entry of readdirSync(ROOT).filter((name) => !NOT_COMMITTED.includes(name)))
    cpSync(join(ROOT, entry), join(checkout, entry), {
      recursive: true,
      filter: (path) => !NOT_COMMITTED.includes(basename(path)),
    });
  for (const folder of workspaceFolders())
    if (existsSync(join(ROOT, folder, 'node_modules')))
      execFileSync('cp', ['-al', join(ROOT, folder, 'node_modules'), join(checkout, folder)]);
  git('init', '--quiet');
  git('add', '.');
  git('-c', 'user.name=Test', '-c', 'user.email=test@example.org', 'commit', '--quiet', '--message', 'All');
  commit = git('rev-parse', 'HEAD');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: checkout, encoding: 'utf8' }).trim();

/** Without a container engine: two builds of images are compared by images.container.test.ts. */
function release(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(
    'node',
    ['scripts/release/main.ts', '--without-single-files', '--out', out, ...args],
    {
      cwd: checkout,
      encoding: 'utf8',
      env: { ...process.env, DOCKER_HOST: `unix://${join(dir, 'no-engine.sock')}` },
    },
  );
  return { status, stdout, stderr };
}

/** For two builds, which take a minute of processor time together. */
const HANG_MS = 600_000;

test(
  'a dry run writes the packages, a bill of materials of each artefact, checksums and provenance',
  () => {
    const { status, stdout, stderr } = release('--dry-run');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const files = [...checksumsOf(out).keys()];
    const packages = files.filter((path) => path.startsWith('npm/')).map((path) => basename(path, '.tgz'));
    expect(packages).toHaveLength(4);
    const images = ['svault-control-plane-image', 'svault-webhook-image', 'svault-setup-image'];
    expect(files).toEqual(
      expect.arrayContaining([...packages, ...images].map((name) => `sbom/${name}.cdx.json`)),
    );

    const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8');
    execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: out });
    const { subject, predicate } = JSON.parse(readFileSync(join(out, 'provenance.intoto.json'), 'utf8')) as {
      subject: readonly { readonly name: string; readonly digest: { readonly sha256: string } }[];
      predicate: { buildDefinition: { resolvedDependencies: readonly unknown[] } };
    };
    const subjects = new Map(subject.map(({ name, digest }) => [name, digest.sha256]));
    expect(subjects.get('SHA256SUMS')).toBe(sha256Of(sums));
    subjects.delete('SHA256SUMS');
    expect(checksumLines(subjects)).toBe(sums);
    expect(files).toHaveLength(subjects.size + 2);
    expect(predicate.buildDefinition.resolvedDependencies).toMatchObject([{ digest: { gitCommit: commit } }]);
    for (const name of packages)
      expect(stdout).toContain(`npm publish --provenance --access public ./npm/${name}.tgz`);
    expect(stdout).toMatch(
      /^Images were not compared, since no container engine answers \(.+\)\. Start Docker/m,
    );
  },
  HANG_MS,
);

test('a dry run of a checkout with changes fails, and names them', () => {
  appendFileSync(join(checkout, 'cli/README.md'), 'a change\n');
  const { status, stderr } = release('--dry-run');
  expect(status).toBe(1);
  expect(stderr).toContain('the checkout has changes that are not committed:\n M cli/README.md');
});

test('without --dry-run nothing is built or published, and the release pipeline is named', () => {
  const { status, stderr } = release();
  expect(status).toBe(1);
  expect(stderr).toMatch(/^Only the release pipeline publishes/);
});
