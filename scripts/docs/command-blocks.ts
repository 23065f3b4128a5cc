import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A block of shell commands that a page tells its readers to run. */
export interface CommandBlock {
  readonly page: string;
  /** Of its first command, counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** Pages whose commands are run: the documentation, READMEs and what a contributor reads. */
function pages(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z', '*.md'], { cwd: ROOT });
  return listed
    .toString()
    .split('\0')
    .filter((page) => page !== '' && existsSync(join(ROOT, page)));
}

/** Every `sh` block of every page, in order. */
export function commandBlocks(): readonly CommandBlock[] {
  return pages().flatMap((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => ({
      page,
      line: text.slice(0, match.index).split('\n').length + 1,
      text: match[1] ?? '',
    }));
  });
}
