import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundlePackage, bundleSingleFile } from '../../cli/scripts/bundle.ts';
import { fetchKeyring, fetchNode } from '../../cli/scripts/single-file/fetched-package.ts';
import { TARGETS, type TargetName } from '../../cli/scripts/single-file/targets.ts';
import { bundleSuite } from '../../conformance/scripts/bundle.ts';
import { packagesOf } from '../packing/notices.ts';
import { type PublishedFolder, readPublishedManifest, ROOT } from '../packing/pack.ts';
import { INSTALLED, installedFolders } from '../packing/program.ts';

/** Where the console is built, below the root. */
const CONSOLE_SITE = 'control-plane/console/dist/site';

/** Runs with a folder that is gone afterwards. It is in the checkout, where bundles find what they import. */
async function inWork<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const work = mkdtempSync(join(ROOT, 'node_modules/.parts-'));
  try {
    return await use(work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The folders of the packages in a published package, and of those that are installed with it. */
export async function partsOfPackage(folder: PublishedFolder): Promise<readonly string[]> {
  const bundled = await inWork(async (work) => {
    if (folder === 'cli') return bundlePackage(work, { inCheckout: false });
    return folder === 'conformance' ? bundleSuite(work) : [];
  });
  const { dependencies, optionalDependencies } = readPublishedManifest(folder);
  const installed = Object.keys({ ...dependencies, ...optionalDependencies });
  return [...packagesOf(bundled), ...installedFolders(installed, join(ROOT, folder))];
}

/** The folders of the packages in a built program. @param files that its code is from, by esbuild's own account */
export const partsOfProgram = (files: readonly string[]): readonly string[] => [
  ...packagesOf(files),
  ...installedFolders(INSTALLED, ROOT),
];

/** The folders of the packages that the set-up has beside both programs. */
export function partsOfSetup(): readonly string[] {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'compose/package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const folders = installedFolders(Object.keys(dependencies), join(ROOT, 'compose'));
  return folders.filter((folder) => !folder.includes('/@svault/'));
}

/** The folders of the packages in a single file. */
export async function partsOfSingleFile(name: TargetName): Promise<readonly string[]> {
  const bundled = await inWork((work) => bundleSingleFile(join(work, 'svault.cjs')));
  return [...packagesOf(bundled), fetchNode(TARGETS[name].node).folder, fetchKeyring(TARGETS[name]).folder];
}

/** The folders of the packages in the built console, by Vite's own account; the style sheet is made by Tailwind. */
export function partsOfConsole(): readonly string[] {
  const licenses = readFileSync(join(ROOT, CONSOLE_SITE, 'THIRD-PARTY-LICENSES.md'), 'utf8');
  const names = [...licenses.matchAll(/^## (?<name>\S+) - \d\S* \(/gm)].map(
    (match) => match.groups?.['name'] ?? '',
  );
  if (names.length === 0) throw new Error('the built console does not say what is in it');
  return [...names, 'tailwindcss'].map((name) => {
    const folder = installedFolders([name], join(ROOT, 'control-plane/console'))[0];
    if (folder === undefined) throw new Error(`${name} is in the console and not installed`);
    return folder;
  });
}
