import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, ROOT, isInstalled, mustRun } from './run.ts';

export const PYTHON_CLIENT = join(ROOT, 'clients/python');
const REQUIREMENTS = join(ROOT, 'clients/test/requirements.txt');

/** Python with the module that makes virtual environments, which Debian packs by itself. */
export const hasPython = isInstalled('python3', '-c', 'import ensurepip, venv');

/** A virtual environment with requirements.txt, made at its first use. @returns its interpreter */
export async function pythonEnvironment(): Promise<string> {
  const version = await mustRun(['python3', '-c', 'import sys; print(sys.version, sys.prefix)']);
  const inside = createHash('sha256').update(version).update(readFileSync(REQUIREMENTS)).digest('hex');
  const folder = join(CACHE, `python-${inside.slice(0, 16)}`);
  const interpreter = join(folder, 'bin/python');
  if (existsSync(interpreter)) return interpreter;
  mkdirSync(CACHE, { recursive: true });
  const making = mkdtempSync(join(CACHE, 'python-'));
  await mustRun(['python3', '-m', 'venv', making]);
  await mustRun([join(making, 'bin/python'), '-m', 'pip', 'install', '--quiet', '-r', REQUIREMENTS]);
  // Whole or not at all: another test file may be making the same one.
  try {
    renameSync(making, folder);
  } catch (error) {
    if (!existsSync(interpreter)) throw error;
    rmSync(making, { recursive: true, force: true });
  }
  return interpreter;
}

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
