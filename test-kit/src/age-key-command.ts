import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { makeAgeIdentity } from './age-identity.ts';

/** A command that decrypts a key with `age`, and how often it has run. */
export interface AgeKeyCommand {
  readonly command: string;
  readonly runs: () => number;
}

/**
 * Encrypts a key with Debian's `age`.
 * @param path of new files, which begin so
 */
export function ageKeyCommand(path: string, key: string): AgeKeyCommand {
  const identity = makeAgeIdentity(`${path}.identity`);
  execFileSync('age', ['-r', identity.recipient, '-o', `${path}.age`], { input: `${key}\n` });
  const runs = `${path}.runs`;
  writeFileSync(runs, '');
  return {
    command: `sh -c 'echo >> "$0" && exec age -d -i "$1" "$2"' ${runs} ${identity.path} ${path}.age`,
    runs: () => readFileSync(runs, 'utf8').length,
  };
}
