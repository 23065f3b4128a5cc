import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publishedManifest, type Manifest, type PublishedManifest } from './manifest.ts';

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Folders of the packages that are published; the others run from the repository or from an image. */
export const PUBLISHED = ['shared', 'conformance', 'cli', 'clients/node'] as const;
export type PublishedFolder = (typeof PUBLISHED)[number];
/** Packages that carry dependencies in their own files: the script that makes these, and what is still installed. */
const BUNDLED: Partial<
  Record<PublishedFolder, { readonly script: string; readonly installs: readonly string[] }>
> = {
  cli: { script: 'cli/scripts/build-package.ts', installs: [] },
  conformance: { script: 'conformance/scripts/build-package.ts', installs: ['zod'] },
};

/** Reads the manifest of a workspace by its folder. */
export function readManifest(folder: PublishedFolder): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Manifest;
}

/** The manifest that a workspace is published with. */
export function readPublishedManifest(folder: PublishedFolder): PublishedManifest {
  return publishedManifest(readManifest(folder), BUNDLED[folder]?.installs);
}

/**
 * Builds a package and packs it as it is published.
 * @param into an existing folder; receives the staged package (`staged/…`) and the tarball
 * @returns the tarball's path
 */
export function pack(folder: PublishedFolder, into: string): string {
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-b', folder], { cwd: ROOT, stdio: 'inherit' });
  const staged = join(into, 'staged', folder);
  stage(folder, staged);
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', into], {
      cwd: staged,
      encoding: 'utf8',
    }),
  ) as Array<{ filename: string }>;
  if (packed === undefined) throw new Error(`npm packed nothing from ${folder}`);
  return join(into, packed.filename);
}

function stage(folder: PublishedFolder, staged: string): void {
  const manifest = readManifest(folder);
  const source = join(ROOT, folder);
  mkdirSync(staged, { recursive: true });
  writeFileSync(join(staged, 'package.json'), `${JSON.stringify(readPublishedManifest(folder), null, 2)}\n`);
  cpSync(join(ROOT, 'LICENSE'), join(staged, 'LICENSE'));
  for (const file of [...(manifest.files ?? []), 'README.md'])
    if (file !== 'dist' && existsSync(join(source, file)))
      cpSync(join(source, file), join(staged, file), { recursive: true });
  const bundler = BUNDLED[folder];
  if (bundler === undefined) stageCompiled(source, staged);
  else execFileSync('node', [join(ROOT, bundler.script), staged], { cwd: ROOT, stdio: 'inherit' });
}

/** By the sources, not by what lies in dist: a file that was renamed leaves its old output there. */
function stageCompiled(source: string, staged: string): void {
  for (const file of globSync('src/**/*.ts', { cwd: source })) {
    if (/\.(test|contract)\.ts$/.test(file)) continue;
    for (const extension of ['.js', '.d.ts']) {
      const built = file.replace(/\.ts$/, extension);
      cpSync(join(source, 'dist', built), join(staged, 'dist', built.slice('src/'.length)));
    }
  }
}
