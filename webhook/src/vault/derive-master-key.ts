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
