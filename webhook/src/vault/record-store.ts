/** What is known of one version of a record without opening it. */
export interface RecordHead {
  readonly serviceName: string;
  readonly version: number;
  /** Stays over replacements. Milliseconds since 1970, as the following. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Of the settings, for lists. */
  readonly expiryTimeMs: number | undefined;
  /** JSON of SealedSettings, authenticated byte for byte as it stands here. */
  readonly settingsText: string;
}

/** One version of a record at rest. */
export interface StoredRecord extends RecordHead {
  /** Wrapped under the master key; one per version. */
  readonly dataKey: Uint8Array;
  /** The secret fields, sealed under the data key. */
  readonly body: Uint8Array;
}

export interface RecordPageQuery {
  /** The last name of the former page; the first page begins at `''`. Names are ordered by their bytes. */
  readonly after: string;
  readonly limit: number;
  readonly expiresBeforeMs: number | undefined;
}

/** Versions of records. Calls are synchronous; writing ones take part in the open transaction. */
export interface RecordStore {
  live(serviceName: string): StoredRecord | undefined;
  /** Heads alone: a page of bodies could be a hundred megabytes. */
  page(query: RecordPageQuery): readonly RecordHead[];
  /** Greater than every version this name ever had, after deletion and purge too. */
  nextVersion(serviceName: string): number;
  /** Writes the live version of a name that has none. */
  insert(record: StoredRecord): void;
  /** The live version becomes a former one under this data key, kept until it is purged. */
  retire(live: Pick<StoredRecord, 'serviceName' | 'dataKey'>, atMs: number): void;
  /** Numbers of former versions that were retired at this moment or later; the one that was live last comes first. */
  retiredVersions(serviceName: string, sinceMs: number): readonly number[];
  /** A former version. */
  retired(serviceName: string, version: number): StoredRecord | undefined;
  /** Puts a record in the place of a version of that name, live or former, which is erased; false where it is gone. */
  supersede(version: number, record: StoredRecord): boolean;
  /** Erases former versions of a name, or of all names when they were retired before a moment. */
  erase(which: { readonly serviceName: string } | { readonly retiredBeforeMs: number }): number;
}

/**
 * What is known of a stored refresh token that is not the good one for sure (protocol section 7).
 *
 * - `may_be_spent`: it was sent to the provider, or was about to be, and no answer is stored: it may be tried once more
 * - `reauth_needed`: the provider refused it; only storing the secret anew helps
 */
export type MarkState = 'may_be_spent' | 'reauth_needed';

/** One version of a record. */
export interface MarkedVersion {
  readonly serviceName: string;
  readonly version: number;
}

/**
 * Marks on versions of records; one that is erased takes its mark along. Calls are synchronous; writing ones take part in
 * the open transaction.
 */
export interface RefreshMarks {
  get(serviceName: string, version: number): MarkState | undefined;
  /** Sets or changes the mark of a version that is there. */
  put(mark: MarkedVersion & { readonly state: MarkState; readonly sinceMs: number }): void;
  remove(serviceName: string, version: number): void;
  /** A version that is made of another one has the same refresh token, and so the same mark. */
  carryOver(serviceName: string, from: number, to: number): void;
  /** The live versions whose refresh token may be spent. */
  mayBeSpent(): readonly MarkedVersion[];
}
