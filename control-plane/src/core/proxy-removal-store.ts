import type { Id } from '@svault/shared';

/** Settings of a proxy that is gone, which a webhook may still have. */
export interface ProxyRemoval {
  readonly vaultId: Id<'vlt'>;
  readonly webhookId: string;
  readonly proxyId: Id<'prx'>;
}

export interface OwedRemoval extends ProxyRemoval {
  /** How often the webhook was asked in vain. */
  readonly tries: number;
}

export interface ProxyRemovalStore {
  /** Owed from now on; one that is owed already is due at once. */
  owe(removal: ProxyRemoval, now: string): Promise<void>;
  /** Those whose time has come, the longest due first. */
  due(now: string, limit: number): Promise<readonly OwedRemoval[]>;
  postpone(removal: ProxyRemoval, until: { readonly dueAt: string; readonly tries: number }): Promise<void>;
  /** All that the vault owes this webhook and that is due: they wait for the same webhook. */
  postponeAll(
    of: Pick<ProxyRemoval, 'vaultId' | 'webhookId'>,
    until: { readonly now: string; readonly dueAt: string },
  ): Promise<void>;
  settle(removal: ProxyRemoval): Promise<void>;
}
