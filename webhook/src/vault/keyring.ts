import { AeadFailed } from '@svault/server-kit/aead';
import { type MasterKeys, createMasterKeys } from '@svault/server-kit/master-keys';
import { type MasterKeyEntry, type MasterKeyStore, followLink } from './master-key.ts';
import { type UnlockedKeys, WrongMasterKey } from './unlock.ts';

/**
 * Wraps small secrets and data encryption keys under the root key (master key), also while another process rotates it.
 *
 * @param options.keys those of the stored entries, as `unlock` found them
 * @throws WrongMasterKey when an entry's key is neither among them nor linked to one of them
 */
export function createKeyring(options: { readonly store: MasterKeyStore; readonly keys: UnlockedKeys }) {
  const { store } = options;
  let keys = options.keys;
  let newest = '';
  let masters: MasterKeys;

  const load = (): readonly MasterKeyEntry[] => {
    const entries = store.list();
    const ids = entries.map(({ id }) => id);
    if (ids.length === keys.size && ids.every((id) => keys.has(id)) && newest !== '') return entries;
    keys = new Map(entries.map((entry) => [entry.id, keyOf(entry, keys)]));
    newest = newestOf(entries).id;
    masters = createMasterKeys(newestFirst(keys, newest));
    return entries;
  };
  load();

  return {
    /**
     * Wraps under the newest key. Call it in the transaction that stores the result, so that a rotation includes
     * the value.
     *
     * @param purpose bound to the result, such as `hmac-key:…`; unwrapping needs the same
     */
    wrap: (plaintext: Uint8Array, purpose: string): Uint8Array => {
      load();
      return masters.wrap(plaintext, purpose);
    },
    /** @throws AeadFailed for bytes that were not wrapped here for this purpose */
    unwrap: (wrapped: Uint8Array, purpose: string): Uint8Array => {
      try {
        return masters.unwrap(wrapped, purpose);
      } catch (error) {
        if (!(error instanceof AeadFailed)) throw error;
      }
      load();
      return masters.unwrap(wrapped, purpose);
    },
    /** The key that `wrap` uses, and its derivation if it comes from a passphrase; for backups. */
    newest: () => {
      const entries = load();
      return { key: newestFirst(keys, newest)[0], derivation: newestOf(entries).derivation };
    },
    /**
     * Takes over the new key of a rotation in another process. Once that is the only key its link is erased, so that
     * the former key opens nothing.
     */
    refresh: (): void => {
      for (const { id, state, link } of load()) {
        if (state === 'current' && link !== null) store.clearLink(id);
      }
    },
  };
}

export type Keyring = ReturnType<typeof createKeyring>;

function keyOf(entry: MasterKeyEntry, known: UnlockedKeys): Uint8Array {
  const key = known.get(entry.id) ?? followLink(entry, known.values());
  if (key === undefined) throw new WrongMasterKey('the root key was rotated: start again with the new one');
  return key;
}

function newestOf(entries: readonly MasterKeyEntry[]): MasterKeyEntry {
  const entry = entries.find(({ state }) => state === 'next') ?? entries[0];
  if (entry === undefined) throw new WrongMasterKey('this vault has no root key yet');
  return entry;
}

function newestFirst(keys: UnlockedKeys, newest: string): readonly [Uint8Array, ...Uint8Array[]] {
  const first = keys.get(newest);
  if (first === undefined) throw new WrongMasterKey('this vault has no root key yet');
  return [first, ...[...keys].filter(([id]) => id !== newest).map(([, key]) => key)];
}
