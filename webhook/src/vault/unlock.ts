import { type Secret, fromBase64url, randomToken } from '@svault/shared';
import type { MasterKeySource } from '../config/config.ts';
import { type KeyDerivation, type MasterKeyEntry, isMasterKeyOf, newMasterKeyEntry } from './master-key.ts';

const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** `Algorithm.Argon2id`; the package declares a const enum, which type stripping cannot read. */
const ARGON2ID = 2;

/** RFC 9106 section 4, the second recommended option: 64 MiB, three passes, four lanes; with a fresh salt. */
function newKeyDerivation(): KeyDerivation {
  return { salt: randomToken(SALT_BYTES), memoryKiB: 65_536, passes: 3, lanes: 4 };
}

/**
 * The highest cost that this program accepts from a file that is not authenticated yet, so that a start is not delayed.
 */
const MAX_MEMORY_KIB = 1_048_576;
const MAX_PASSES = 16;
const MAX_LANES = 16;

/** Whether a value is a key derivation within those costs. */
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
async function deriveMasterKey(passphrase: Secret, derivation: KeyDerivation): Promise<Uint8Array> {
  const salt = fromBase64url(derivation.salt);
  if (salt === undefined) throw new RangeError('the stored salt is no base64url');
  // Loaded where there is a passphrase.
  const { hashRaw } = await import('@node-rs/argon2');
  return hashRaw(passphrase.reveal().normalize('NFKC'), {
    algorithm: ARGON2ID,
    salt,
    memoryCost: derivation.memoryKiB,
    timeCost: derivation.passes,
    parallelism: derivation.lanes,
    outputLen: KEY_BYTES,
  });
}

/** The keys of the operator's settings. */
interface GivenKeys {
  readonly masterKey: MasterKeySource;
  readonly nextMasterKey: Secret<Uint8Array> | undefined;
}

/** The keys given do not open this vault. Nothing was changed. */
export class WrongMasterKey extends Error {
  override readonly name = 'WrongMasterKey';
}

/** Root keys by the id of their entry. */
export type UnlockedKeys = ReadonlyMap<string, Uint8Array>;

/**
 * Finds the key of every entry among those given, changing nothing.
 *
 * @throws WrongMasterKey if an entry cannot be opened: the current one for a wrong key, either of the two for half of
 *   an interrupted rotation
 */
export async function unlock(entries: readonly MasterKeyEntry[], given: GivenKeys): Promise<UnlockedKeys> {
  const keys = new Map<string, Uint8Array>();
  for (const entry of entries) {
    const candidates = await candidateKeys(entry.derivation, given);
    const key = candidates.find((candidate) => isMasterKeyOf(entry, candidate));
    if (key !== undefined) keys.set(entry.id, key);
  }
  if (keys.size === entries.length) return keys;
  throw new WrongMasterKey(explain(entries, keys.size));
}

/** The key of a new vault, and the entry by which it is recognised later. */
export async function firstMasterKey(source: MasterKeySource) {
  if (source.kind === 'key') {
    const key = source.key.reveal();
    return { key, entry: newMasterKeyEntry(key, { state: 'current' }) };
  }
  const derivation = newKeyDerivation();
  const key = await deriveMasterKey(source.passphrase, derivation);
  return { key, entry: newMasterKeyEntry(key, { state: 'current', derivation }) };
}

/** The given keys that can have this derivation: a passphrase has one, bytes have none. */
export async function candidateKeys(
  derivation: KeyDerivation | undefined,
  { masterKey, nextMasterKey }: GivenKeys,
): Promise<readonly Uint8Array[]> {
  if (derivation !== undefined && masterKey.kind === 'passphrase')
    return [await deriveMasterKey(masterKey.passphrase, derivation)];
  const bytes = masterKey.kind === 'key' ? [masterKey.key.reveal()] : [];
  return nextMasterKey === undefined ? bytes : [...bytes, nextMasterKey.reveal()];
}

function explain(entries: readonly MasterKeyEntry[], opened: number): string {
  if (entries.length > 1 && opened > 0)
    return (
      'a rotation of the root key was interrupted and half of the vault is under each key: give the former one ' +
      'as SV_WEBHOOK_MASTER_KEY and the new one as SV_WEBHOOK_MASTER_KEY_NEXT, and run rotate-master-key again'
    );
  return 'the root key does not open this vault; nothing was changed';
}
