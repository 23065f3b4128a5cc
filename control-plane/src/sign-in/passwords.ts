import type * as Argon2 from '@node-rs/argon2';
import { randomToken } from '@svault/shared';
import { normalizePassword } from './password-rules.ts';
import { createWorkQueue } from './work-queue.ts';

/** Hashes passwords and compares them with hashes. */
export interface Passwords {
  /** @returns a PHC string */
  hash(password: string): Promise<string>;
  /** @param kept undefined, where nobody has such a password, takes as long and is never right */
  verify(kept: string | undefined, password: string): Promise<boolean>;
}

/**
 * OWASP Password Storage Cheat Sheet, "Argon2id": 19 MiB of memory, two passes, one lane. The library's default algorithm is
 * Argon2id; its salt is 16 random bytes.
 */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/**
 * Two at a time: a hash takes 19 MiB and one of the four threads that files and name look-ups also need. A flood finds fifty
 * places to wait and is then refused, so that it costs 38 MiB, however large.
 */
const QUEUE = { running: 2, waiting: 50 } as const;

/** Loaded when the first password comes: it takes 8 MiB, which a service without passwords spares. */
const argon2 = (): Promise<Pick<typeof Argon2, 'hash' | 'verify'>> => import('@node-rs/argon2');

/** @throws from both functions, AppError UNAVAILABLE when too many wait */
export function createPasswords(): Passwords {
  const queue = createWorkQueue(QUEUE);
  const hashPassword = (password: string): Promise<string> =>
    queue(async () => (await argon2()).hash(normalizePassword(password), COST));
  let nobodys: Promise<string> | undefined;
  return {
    hash: hashPassword,
    verify: async (kept, password) => {
      // Asked for in either case, so that the first look for somebody unknown takes no longer.
      nobodys ??= hashPassword(randomToken());
      const decoy = await nobodys.catch((error: unknown) => {
        nobodys = undefined;
        throw error;
      });
      const right = await queue(async () =>
        (await argon2()).verify(kept ?? decoy, normalizePassword(password)),
      );
      return right && kept !== undefined;
    },
  };
}
