import type { Secret } from '@svault/shared';
import type { MasterKeySource } from '../config/config.ts';
import { deriveMasterKey, newKeyDerivation } from './derive-master-key.ts';
import { isMasterKeyOf, newMasterKeyEntry } from './master-key-check.ts';
import type { KeyDerivation, MasterKeyEntry } from './master-key-store.ts';

/** What the operator gave. */
export interface GivenKeys {
  readonly masterKey: MasterKeySource;
  readonly nextMasterKey: Secret<Uint8Array> | undefined;
}

/** The keys given do not open this vault. Nothing was changed. */
export class WrongMasterKey extends Error {
  override readonly name = 'WrongMasterKey';
}

/** Master keys by the id of their entry. */
export type UnlockedKeys = ReadonlyMap<string, Uint8Array>;

/**
 * Finds the key of every entry among those given, changing nothing.
 *
 * @throws WrongMasterKey when an entry stays closed: the current one for a wrong key, either of the two for half of
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

/** A key and the entry by which it is known again. */
export interface FirstMasterKey {
  readonly key: Uint8Array;
  readonly entry: MasterKeyEntry;
}

/** The first key of a new vault, with the entry by which it is known again. */
export async function firstMasterKey(source: MasterKeySource): Promise<FirstMasterKey> {
  if (source.kind === 'key') {
    const key = source.key.reveal();
    return { key, entry: newMasterKeyEntry(key, { state: 'current' }) };
  }
  const derivation = newKeyDerivation();
  const key = await deriveMasterKey(source.passphrase, derivation);
  return { key, entry: newMasterKeyEntry(key, { state: 'current', derivation }) };
}

/**
 * The keys given that can be the one with this derivation: a derivation was made from a passphrase, none from bytes.
 */
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
      'a rotation of the master key was interrupted and half of the vault is under each key: give the former one ' +
      'as SV_WEBHOOK_MASTER_KEY and the new one as SV_WEBHOOK_MASTER_KEY_NEXT, and run rotate-master-key again'
    );
  return 'the master key does not open this vault; nothing was changed';
}
