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
