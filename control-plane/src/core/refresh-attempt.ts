import type { Id } from '@svault/shared';

/** The last attempt to refresh a token on schedule. */
export interface RefreshAttempt {
  /** The version of the record that it was for: where it is another by now, something came of it. */
  readonly version: number;
  /** How many attempts in a row came to nothing. */
  readonly failures: number;
  /** Before this time there is no further attempt for the same version. */
  readonly nextAt: string;
}

/** Attempts outlive the process, so that after a restart, or at another process, nothing begins anew. */
export interface RefreshAttemptStore {
  /** By service name, those there are. */
  ofServices(
    vaultId: Id<'vlt'>,
    serviceNames: readonly string[],
  ): Promise<ReadonlyMap<string, RefreshAttempt>>;

  /**
   * Begins an attempt: true at most once for a version until `attempt.nextAt`, whichever processes ask.
   *
   * @param bounds.latest a pause that ends behind it is of a clock that was set back since, and holds nobody off
   */
  begin(
    vaultId: Id<'vlt'>,
    serviceName: string,
    attempt: RefreshAttempt,
    bounds: { readonly now: string; readonly latest: string },
  ): Promise<boolean>;

  /** Writes what came of it. */
  settle(vaultId: Id<'vlt'>, serviceName: string, attempt: RefreshAttempt): Promise<void>;

  /** Forgets those whose next one was due before a time: nobody has asked for it since. */
  forget(before: string): Promise<void>;
}
