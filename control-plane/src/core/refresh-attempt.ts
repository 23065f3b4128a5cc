import type { Id } from '@svault/shared';

/** The last attempt to refresh a token on schedule. */
export interface RefreshAttempt {
  /** The version of the credential that it was for. A newer one means that it succeeded. */
  readonly version: number;
  /** Failed attempts in a row. */
  readonly failures: number;
  /** The next attempt for the same version is no earlier. */
  readonly nextAt: string;
}

/** Attempts are durable, so that a restarted process or another one continues their schedule. */
export interface RefreshAttemptStore {
  /** By service name. */
  ofServices(
    vaultId: Id<'vlt'>,
    serviceNames: readonly string[],
  ): Promise<ReadonlyMap<string, RefreshAttempt>>;

  /**
   * Begins an attempt: true at most once for a version until `attempt.nextAt`, over all processes.
   *
   * @param bounds.latest a later `nextAt` stems from a clock that was set back since, and is ignored
   */
  begin(
    vaultId: Id<'vlt'>,
    serviceName: string,
    attempt: RefreshAttempt,
    bounds: { readonly now: string; readonly latest: string },
  ): Promise<boolean>;

  /** Writes its outcome. */
  settle(vaultId: Id<'vlt'>, serviceName: string, attempt: RefreshAttempt): Promise<void>;

  /** Removes those whose next attempt was due before a time. */
  forget(before: string): Promise<void>;
}
