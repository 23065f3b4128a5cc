import type { Stats } from 'node:fs';
import { geteuid } from 'node:process';
import { usage } from '../failure.ts';

const WRITABLE_BY_OTHERS = 0o022;

/**
 * What compose runs may do anything on this machine: so nobody but this user and root may have put it there, or change it.
 * @throws Failure usage that says what is wrong with it
 */
export function mustNotBeOfOthers(path: string, { uid, mode }: Pick<Stats, 'uid' | 'mode'>): void {
  const me = geteuid?.() ?? 0;
  const isOfOthers = uid !== me && uid !== 0 && me !== 0;
  if (isOfOthers || (mode & WRITABLE_BY_OTHERS) !== 0)
    throw usage(
      `${path} belongs to somebody else or can be changed by others${isOfOthers ? '' : ` (chmod go-w ${path})`}; it is not used`,
    );
}
