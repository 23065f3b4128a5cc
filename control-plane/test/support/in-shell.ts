import { spawn, spawnSync } from 'node:child_process';

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs what a person pastes into a terminal; it fails where a step of it fails. @param cwd an empty folder */
export function inShell(
  cwd: string,
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
    cwd,
    env: { PATH, HOME, ...env },
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (data: Buffer) => void (said.stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => void (said.stderr += data.toString()));
  return new Promise((resolve) => void child.on('close', (code) => resolve({ code, ...said })));
}

/** Whether a program runs here. */
export const isInstalled = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
