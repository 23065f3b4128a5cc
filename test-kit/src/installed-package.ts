import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from './temp-dir.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A published package in an empty folder, as its users have it. */
export interface InstalledPackage {
  /** The file behind its command. */
  readonly command: string;
  remove(): void;
}

/** Packs a package and has npm install the tarball into an empty folder, from no registry. */
export function installedPackage(folder: 'cli' | 'conformance', name: string): InstalledPackage {
  const dir = tempDir();
  const [packed, project] = [join(dir.path, 'packed'), join(dir.path, 'project')];
  const run = (cwd: string, command: string, ...args: string[]): void => {
    execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  };
  mkdirSync(project);
  run(ROOT, process.execPath, 'scripts/pack.ts', folder, packed);
  // The one dependency that is not in the packages' own files: only the registry's answer is made here.
  run(packed, 'npm', 'pack', '--ignore-scripts', join(ROOT, 'node_modules/zod'));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true }));
  const tarballs = readdirSync(packed).map((file) => join(packed, file));
  run(project, 'npm', 'install', '--offline', '--no-audit', '--no-fund', ...tarballs);
  return { command: join(project, 'node_modules/.bin', name), remove: () => dir.remove() };
}

/**
 * What installed packages are run on: this process's Node, and what else is called `node` on the path, such as the older one
 * of the machine.
 */
export function nodesOnPath(): readonly { readonly version: string; readonly node: string }[] {
  const others = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  const found = [process.execPath, ...others.filter((path) => existsSync(path))].map(
    (node) => [execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(), node] as const,
  );
  return [...new Map(found.toReversed())].map(([version, node]) => ({ version, node })).toReversed();
}
