/** One version of a record, without its secret. */
export interface RecordHead {
  readonly serviceName: string;
  readonly version: number;
  /** A replacement keeps it. Milliseconds since 1970, like the next two. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Of the settings, for lists. */
  readonly expiryTimeMs: number | null;
  /** JSON of SealedSettings, authenticated byte for byte. */
  readonly settingsText: string;
}

/** One version of a record at rest. */
export interface StoredRecord extends RecordHead {
  /** The data encryption key of this version, wrapped under the root key. */
  readonly wrappedDataKey: Uint8Array;
  /** The secret fields, sealed under that key. */
  readonly body: Uint8Array;
}

interface RecordPageQuery {
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
  /** The live version becomes a former one with this wrapped data key, until it is purged. */
  retire(live: Pick<StoredRecord, 'serviceName' | 'wrappedDataKey'>, atMs: number): void;
  /** Numbers of former versions that were retired at this moment or later; the one that was live last comes first. */
  retiredVersions(serviceName: string, sinceMs: number): readonly number[];
  /** A former version. */
  retired(serviceName: string, version: number): StoredRecord | undefined;
  /** Replaces and erases a version of that name, live or former; false if there is none. */
  supersede(version: number, record: StoredRecord): boolean;
  /** Erases former versions of a name, or of all names when they were retired before a moment. */
  erase(which: { readonly serviceName: string } | { readonly retiredBeforeMs: number }): number;
}

/**
 * The state of a stored refresh token that may be invalid (PROTOCOL.md section 7).
 *
 * - `may_be_spent`: it was sent to the provider, or was about to be, and no answer is stored; it may be tried once more
 * - `reauth_needed`: the provider rejected it; the owner must store the credential again
 */
export type MarkState = 'may_be_spent' | 'reauth_needed';

/** One version of a record. */
interface MarkedVersion {
  readonly serviceName: string;
  readonly version: number;
}

/**
 * Marks on versions of records; erasing a version erases its mark. Calls are synchronous; writing ones take part in
 * the open transaction.
 */
export interface RefreshMarks {
  get(serviceName: string, version: number): MarkState | undefined;
  /** Sets or changes the mark of an existing version. */
  put(mark: MarkedVersion & { readonly state: MarkState; readonly sinceMs: number }): void;
  remove(serviceName: string, version: number): void;
  /** A version that is a copy of another one has the same refresh token, and so the same mark. */
  carryOver(serviceName: string, from: number, to: number): void;
  /** The live versions whose refresh token may be consumed. */
  mayBeSpent(): readonly MarkedVersion[];
}
