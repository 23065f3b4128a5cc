import type { Id } from '@svault/shared';

/** Numbers of an account's objects, each counted up to a cap. */
export interface AccountCounts {
  readonly agentsActive: number;
  readonly agentsSuspended: number;
  readonly tokens: number;
  readonly folders: number;
  readonly grantsLive: number;
  /** Of the live ones. */
  readonly grantsEndingSoon: number;
  readonly policies: number;
  readonly proxiesActive: number;
}

export interface OverviewStore {
  /**
   * Its cost is bounded by the cap.
   *
   * @param request.now, request.soon grants that expire between them expire soon
   * @param request.upTo the cap of each number
   */
  counts(
    vaultId: Id<'vlt'>,
    request: { readonly now: string; readonly soon: string; readonly upTo: number },
  ): Promise<AccountCounts>;
}
