import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../packing/pack.ts';

/** @returns what git prints, without the line end. @throws Error */
export const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trimEnd();

/** The folders with a manifest, relative to the root, which is first. */
export function workspaceFolders(): readonly string[] {
  const { workspaces } = JSON.parse(read('package.json')) as { workspaces: readonly string[] };
  return ['.', ...workspaces];
}

/** What keeps this checkout from being released, one line each. @param version that is to be released */
export function checkoutProblems(version: string): readonly string[] {
  const changed = git('status', '--porcelain');
  const manifests = workspaceFolders().map((folder) => join(folder, 'package.json'));
  const versions = [
    ...manifests.map((path) => ({ path, found: (JSON.parse(read(path)) as { version: string }).version })),
    { path: PYTHON, found: /^__version__ = "(?<version>[^"]+)"$/m.exec(read(PYTHON))?.groups?.['version'] },
  ];
  return [
    ...(changed === '' ? [] : [`the checkout has changes that are not committed:\n${changed}`]),
    ...versions
      .filter(({ found }) => found !== version)
      .map(({ path, found }) => `${path} has version ${found}, not ${version}`),
    ...(hasSection(read('CHANGELOG.md'), version) ? [] : [`CHANGELOG.md has no section of ${version}`]),
  ];
}

const PYTHON = 'clients/python/src/svault/__init__.py';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Whether a changelog has a heading of this version, such as `## 1.2.3 (2026-01-31)`. */
export function hasSection(changelog: string, version: string): boolean {
  return changelog.split('\n').some((line) => line === `## ${version}` || line.startsWith(`## ${version} (`));
}
