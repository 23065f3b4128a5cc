import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { UsageRefused, type Io } from './io.ts';

/** Reads a text file; `-` is stdin. @throws UsageRefused */
export async function readInput(path: string, io: Io): Promise<string> {
  if (path !== '-') return readTextFile(path);
  if (io.input === undefined) throw new UsageRefused('there is no stdin to read');
  return io.input();
}

/** @throws UsageRefused */
export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageRefused(`cannot read ${path}: ${codeOf(error)}`, { cause: error });
  }
}

/** @throws UsageRefused */
export function writeTextFile(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new UsageRefused(`cannot write ${path}: ${codeOf(error)}`, { cause: error });
  }
}

/** Begins a file anew, to be written line by line; one that was not there is for its owner only. @throws UsageRefused */
export function openTextFile(path: string): { line(text: string): void; close(): void } {
  let file: number;
  try {
    file = openSync(path, 'w', 0o600);
  } catch (error) {
    throw new UsageRefused(`cannot write ${path}: ${codeOf(error)}`, { cause: error });
  }
  return {
    line: (text) => writeSync(file, `${text}\n`),
    close: () => closeSync(file),
  };
}

/** Makes an empty file that only its owner reads, before anything is to be lost. @throws UsageRefused where there is one */
export function reserveFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    const why =
      codeOf(error) === 'EEXIST'
        ? `${path} exists already; use --binding ${path}, or delete it`
        : `cannot create ${path}: ${codeOf(error)}`;
    throw new UsageRefused(why, { cause: error });
  }
}

/** Replaces a file that only its owner reads in one step, so that it never holds half of its content. */
export function replaceOwnFile(path: string, text: string): void {
  const next = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(next, text, { mode: 0o600, flag: 'wx' });
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw new UsageRefused(`cannot write ${path}: ${codeOf(error)}`, { cause: error });
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
