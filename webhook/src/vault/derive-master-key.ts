import { hashRaw } from '@node-rs/argon2';
import { type Secret, fromBase64url, randomToken } from '@svault/shared';
import type { KeyDerivation } from './master-key-store.ts';

const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** `Algorithm.Argon2id`; the package declares a const enum, which type stripping cannot read. */
const ARGON2ID = 2;

/** RFC 9106 section 4, the second recommended option: 64 MiB, three passes, four lanes; with a fresh salt. */
export function newKeyDerivation(): KeyDerivation {
  return { salt: randomToken(SALT_BYTES), memoryKiB: 65_536, passes: 3, lanes: 4 };
}

/** What this program takes from a file that it has not authenticated yet: a cost that no start is held up by. */
const MAX_MEMORY_KIB = 1_048_576;
const MAX_PASSES = 16;
const MAX_LANES = 16;

/** Whether a value is a derivation of a cost that may be spent on a file before it is known who wrote it. */
export function isKeyDerivation(value: unknown): value is KeyDerivation {
  if (typeof value !== 'object' || value === null) return false;
  const { salt, memoryKiB, passes, lanes } = value as Partial<Record<keyof KeyDerivation, unknown>>;
  return (
    typeof salt === 'string' &&
    fromBase64url(salt)?.length === SALT_BYTES &&
    isWithin(lanes, 1, MAX_LANES) &&
    isWithin(passes, 1, MAX_PASSES) &&
    // RFC 9106 section 3.1: at least 8 KiB for each lane.
    isWithin(memoryKiB, 8 * MAX_LANES, MAX_MEMORY_KIB)
  );
}

const isWithin = (value: unknown, min: number, max: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;

/** 32 bytes from a passphrase by Argon2id; takes about a tenth of a second, off the event loop. */
export function deriveMasterKey(passphrase: Secret, derivation: KeyDerivation): Promise<Uint8Array> {
  const salt = fromBase64url(derivation.salt);
  if (salt === undefined) throw new RangeError('the stored salt is no base64url');
  return hashRaw(passphrase.reveal().normalize('NFKC'), {
    algorithm: ARGON2ID,
    salt,
    memoryCost: derivation.memoryKiB,
    timeCost: derivation.passes,
    parallelism: derivation.lanes,
    outputLen: KEY_BYTES,
  });
}
