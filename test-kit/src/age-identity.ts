import { execFileSync } from 'node:child_process';

/** An identity that `age-keygen` of Debian's `age` writes to a new file, and its recipient. */
export function makeAgeIdentity(path: string): { readonly path: string; readonly recipient: string } {
  execFileSync('age-keygen', ['-o', path], { stdio: 'ignore' });
  return { path, recipient: execFileSync('age-keygen', ['-y', path], { encoding: 'utf8' }).trim() };
}
