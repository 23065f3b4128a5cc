import { AeadFailed } from '@svault/server-kit/aead';
import { createMasterKeys } from '@svault/server-kit/master-keys';
import { randomToken, utf8 } from '@svault/shared';

/** How a root key comes from a passphrase: Argon2id with these settings (RFC 9106). */
export interface KeyDerivation {
  /** 16 bytes, base64url. */
  readonly salt: string;
  readonly memoryKiB: number;
  readonly passes: number;
  readonly lanes: number;
}

/** What the database stores about a root key (master key): never the key itself. */
export interface MasterKeyEntry {
  readonly id: string;
  /** `next` exists only while a rotation is under way. */
  readonly state: 'current' | 'next';
  /** A known text wrapped under the key, to recognise the key by. */
  readonly checkValue: Uint8Array;
  readonly derivation: KeyDerivation | undefined;
  /** This key wrapped under the former one, so that a running serve can take it over; erased after that. */
  readonly link: Uint8Array | null;
}

/** The stored entries of root keys. Calls are synchronous and take part in an open transaction. */
export interface MasterKeyStore {
  /** At most one entry per state. */
  list(): readonly MasterKeyEntry[];
  add(entry: MasterKeyEntry): void;
  /** Removes the current entry and makes the next one current. */
  promoteNext(): void;
  clearLink(id: string): void;
}

const CHECK_TEXT = utf8('svault webhook master key');
const checkPurpose = (id: string): string => `master-key-check:${id}`;
const linkPurpose = (id: string): string => `master-key-link:${id}`;

/** The entry by which a key is recognised later. */
export function newMasterKeyEntry(
  key: Uint8Array,
  options: {
    readonly state: MasterKeyEntry['state'];
    readonly derivation?: KeyDerivation;
    /** Wraps under the key that a running serve has, so that it can take over this one. */
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
    link: wrapLink?.(key, linkPurpose(id)) ?? null,
  };
}

/** Whether this is the entry's key. */
export function isMasterKeyOf(entry: MasterKeyEntry, key: Uint8Array): boolean {
  return unwrapOrNone(key, entry.checkValue, checkPurpose(entry.id)) !== undefined;
}

/** The entry's key, from its link, if one of the known keys wrapped it. */
export function followLink(entry: MasterKeyEntry, known: Iterable<Uint8Array>): Uint8Array | undefined {
  if (entry.link === null) return undefined;
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
