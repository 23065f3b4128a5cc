import type * as Argon2 from '@node-rs/argon2';
import { randomToken } from '@svault/shared';
import { normalizeEmail } from '../core/user.ts';
import { ApiError } from '../core/errors.ts';

/** OWASP ASVS 5, V6.2.1 and V6.2.9: length counts, composition does not. In characters, not bytes. */
export const PASSWORD_CHARACTERS = { min: 12, max: 128 } as const;

/** NFC, since keyboards differ in how they write an accent (NIST SP 800-63B-4, 3.1.1.2). */
export const normalizePassword = (text: string): string => text.normalize('NFC');

/** What is wrong with a new, normalized password: the rest of a sentence about it; undefined for a good one. */
export function problemOfPassword(password: string, email: string): string | undefined {
  const { min, max } = PASSWORD_CHARACTERS;
  const characters = [...password].length;
  if (characters < min || characters > max) return `must have ${min} to ${max} characters`;
  if (new Set(password).size === 1) return 'must have more than one character, however often repeated';
  return normalizeEmail(password) === email ? 'must not be the e-mail address' : undefined;
}

/** Hashes passwords and compares them with hashes. */
export type Passwords = ReturnType<typeof createPasswords>;

/** OWASP Password Storage Cheat Sheet, "Argon2id", the library's default algorithm, with 16 random bytes of salt. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** A hash takes 19 MiB and one of four threads. Two run and fifty wait, so that a flood of any size costs 38 MiB. */
const MAX_RUNNING = 2;
const MAX_WAITING = 50;
const RETRY_AFTER_SECONDS = 2;

/** Loaded with the first password, since it takes 8 MiB. */
const argon2 = (): Promise<Pick<typeof Argon2, 'hash' | 'verify'>> => import('@node-rs/argon2');

/** @throws from both functions, ApiError UNAVAILABLE when too many wait */
export function createPasswords() {
  const queue = createWorkQueue({ running: MAX_RUNNING, waiting: MAX_WAITING });
  const hashPassword = (password: string): Promise<string> =>
    queue(async () => (await argon2()).hash(normalizePassword(password), COST));
  let decoyHash: Promise<string> | undefined;
  return {
    /** @returns a PHC string */
    hash: hashPassword,
    /** @param storedHash undefined for an unknown user, which takes as long and is never right */
    verify: async (storedHash: string | undefined, password: string): Promise<boolean> => {
      // Made in either case, so that the first attempt for an unknown user takes no longer.
      decoyHash ??= hashPassword(randomToken());
      const decoy = await decoyHash.catch((error: unknown) => {
        decoyHash = undefined;
        throw error;
      });
      const right = await queue(async () =>
        (await argon2()).verify(storedHash ?? decoy, normalizePassword(password)),
      );
      return right && storedHash !== undefined;
    },
  };
}

/** Runs a few pieces of work at a time, in order; a few more wait. The next is rejected with ApiError UNAVAILABLE. */
export function createWorkQueue(max: { readonly running: number; readonly waiting: number }) {
  let free = max.running;
  const queue: (() => void)[] = [];
  const acquire = async (): Promise<void> => {
    if (free > 0) return void free--;
    if (queue.length >= max.waiting)
      throw new ApiError('UNAVAILABLE', 'Too many people sign in at this moment; try again.', {
        details: { retryAfter: RETRY_AFTER_SECONDS },
      });
    await new Promise<void>((resolve) => queue.push(resolve));
  };
  return async <T>(work: () => Promise<T>): Promise<T> => {
    await acquire();
    try {
      return await work();
    } finally {
      // Handed to the next in the queue, so that a newcomer cannot take its place.
      const next = queue.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
