import { AeadFailed } from '@svault/server-kit/aead';
import { createMasterKeys } from '@svault/server-kit/master-keys';
import { randomToken, utf8 } from '@svault/shared';
import type { KeyDerivation, MasterKeyEntry } from './master-key-store.ts';

const CHECK_TEXT = utf8('svault webhook master key');
const checkPurpose = (id: string): string => `master-key-check:${id}`;
const linkPurpose = (id: string): string => `master-key-link:${id}`;

/** The entry by which a key is known again. */
export function newMasterKeyEntry(
  key: Uint8Array,
  options: {
    readonly state: MasterKeyEntry['state'];
    readonly derivation?: KeyDerivation;
    /** Wraps under the key that a running serve has, by which it may take over this one. */
    readonly wrapLink?: (key: Uint8Array, purpose: string) => Uint8Array;
  },
): MasterKeyEntry {
  const id = randomToken();
  const { state, derivation, wrapLink } = options;
  return {
    id,
    state,
    checkValue: createMasterKeys([key]).wrap(CHECK_TEXT, checkPurpose(id)),
    derivation,
    link: wrapLink?.(key, linkPurpose(id)),
  };
}

/** Whether this is the entry's key. */
export function isMasterKeyOf(entry: MasterKeyEntry, key: Uint8Array): boolean {
  return unwrapOrNone(key, entry.checkValue, checkPurpose(entry.id)) !== undefined;
}

/** The entry's key by way of its link, where the link was made under one of the known keys. */
export function followLink(entry: MasterKeyEntry, known: Iterable<Uint8Array>): Uint8Array | undefined {
  if (entry.link === undefined) return undefined;
  for (const key of known) {
    const linked = unwrapOrNone(key, entry.link, linkPurpose(entry.id));
    if (linked !== undefined) return linked;
  }
  return undefined;
}

function unwrapOrNone(key: Uint8Array, wrapped: Uint8Array, purpose: string): Uint8Array | undefined {
  try {
    return createMasterKeys([key]).unwrap(wrapped, purpose);
  } catch (error) {
    if (error instanceof AeadFailed) return undefined;
    throw error;
  }
}
