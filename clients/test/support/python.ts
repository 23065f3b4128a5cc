import { join } from 'node:path';
import { pythonEnvironment as environmentWith } from '@svault/test-kit/foreign-packages';
import { ROOT, mustRun } from '@svault/test-kit/run-program';

export const PYTHON_CLIENT = join(ROOT, 'clients/python');

/** A virtual environment with requirements.txt. @returns its interpreter */
export const pythonEnvironment = (): Promise<string> =>
  environmentWith(join(ROOT, 'clients/test/requirements.txt'));

/** Builds the wheel of the Python client and installs it, alone, into an empty folder. @param work for what is built */
export async function installWheel(python: string, work: string): Promise<string> {
  const site = join(work, 'site');
  const pip = [python, '-m', 'pip', '--quiet', '--disable-pip-version-check'];
  await mustRun([...pip, 'wheel', '--no-deps', '--no-build-isolation', '--wheel-dir', work, PYTHON_CLIENT]);
  await mustRun([
    ...pip,
    'install',
    '--no-deps',
    '--no-index',
    '--find-links',
    work,
    '--target',
    site,
    'svault',
  ]);
  return site;
}
