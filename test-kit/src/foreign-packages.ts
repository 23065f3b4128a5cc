import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, isInstalled, mustRun } from './run-program.ts';

/** Python with the module that makes virtual environments, which Debian packages separately. */
export const hasPython = isInstalled('python3', '-c', 'import ensurepip, venv');

/**
 * A Python virtual environment, made at its first use.
 * @param requirements path of a file for `pip install -r`
 * @returns its interpreter
 */
export async function pythonEnvironment(requirements: string): Promise<string> {
  const version = await mustRun(['python3', '-c', 'import sys; print(sys.version, sys.prefix)']);
  const folder = await cachedFolder(
    'python',
    [version, readFileSync(requirements, 'utf8')],
    async (making) => {
      await mustRun(['python3', '-m', 'venv', making]);
      await mustRun([join(making, 'bin/python'), '-m', 'pip', 'install', '--quiet', '-r', requirements]);
    },
  );
  return join(folder, 'bin/python');
}

/**
 * A folder with npm packages, made at its first use.
 * @param packages each with its version, such as `openai@7.0.0`
 * @returns the folder that has `node_modules`
 */
export const nodePackages = (...packages: readonly string[]): Promise<string> =>
  cachedFolder('node', packages, async (making) => {
    // Without it npm would install into a folder further up.
    writeFileSync(join(making, 'package.json'), '{ "private": true }');
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await mustRun(['npm', 'install', ...options, ...packages], { cwd: making });
  });

/**
 * A folder that is made at its first use: whole or not at all, since another test file may be making the same one.
 * @param contents what it depends on: with others it is another folder
 * @returns the folder
 */
export async function cachedFolder(
  name: string,
  contents: readonly string[],
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const inside = createHash('sha256').update(contents.join('\n')).digest('hex');
  const folder = join(CACHE, `${name}-${inside.slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const making = mkdtempSync(join(CACHE, `${name}-`));
  await make(making);
  try {
    renameSync(making, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(making, { recursive: true, force: true });
  }
  return folder;
}
