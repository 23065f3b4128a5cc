import type { Id } from '@svault/shared';

/** How much of each kind an account has, counted no further than the cap that was asked for. */
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
   * Costs the same however much there is beyond the cap.
   *
   * @param request.now, request.soon in the written form: what ends between them ends soon
   * @param request.upTo the cap of each number
   */
  counts(
    vaultId: Id<'vlt'>,
    request: { readonly now: string; readonly soon: string; readonly upTo: number },
  ): Promise<AccountCounts>;
}
