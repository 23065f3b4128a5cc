import type { Id } from '@svault/shared';
import type { ListedGrant } from './access-store.ts';
import type { Denied } from './denial.ts';

/** Who asked, where that may be told what the door knows besides. */
export interface Caller {
  readonly vaultId: Id<'vlt'>;
  readonly agentId: Id<'agt'>;
}

/** What an agent gets. */
export type Decision =
  | Denied
  /** `url` works once; `expiresAt` in epoch ms. */
  | { readonly outcome: 'ticket'; readonly url: string; readonly expiresAt: number }
  | { readonly outcome: 'grants'; readonly caller: Caller; readonly grants: readonly ListedGrant[] }
  | { readonly outcome: 'grant'; readonly caller: Caller; readonly grant: ListedGrant }
  /** Let through: for `nothing` and for `history`. */
  | { readonly outcome: 'admitted'; readonly caller: Caller };
