/** How a master key comes from a passphrase: Argon2id with these settings (RFC 9106). */
export interface KeyDerivation {
  /** 16 bytes, base64url. */
  readonly salt: string;
  readonly memoryKiB: number;
  readonly passes: number;
  readonly lanes: number;
}

/** What the database knows about a master key: never the key itself. */
export interface MasterKeyEntry {
  readonly id: string;
  /** `next` exists only while a rotation is under way. */
  readonly state: 'current' | 'next';
  /** A known text wrapped under the key: whoever opens it has the right key. */
  readonly checkValue: Uint8Array;
  readonly derivation: KeyDerivation | undefined;
  /** This key wrapped under the former one, so that a running serve can take it over; gone once it has. */
  readonly link: Uint8Array | undefined;
}

/** The stored entries of master keys. Calls are synchronous and take part in an open transaction. */
export interface MasterKeyStore {
  /** At most one entry per state. */
  list(): readonly MasterKeyEntry[];
  add(entry: MasterKeyEntry): void;
  /** Removes the current entry and makes the next one current. */
  promoteNext(): void;
  clearLink(id: string): void;
}
