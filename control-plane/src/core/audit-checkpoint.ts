import type { Id } from '@svault/shared';

/** How far an account's webhook has cosigned the account's log (PROTOCOL.md section 5.11). It outlives the link. */
export interface AuditCheckpoint {
  readonly vaultId: Id<'vlt'>;
  readonly webhookId: string;
  /** The newest event that the note covers; 0 before the first note. */
  readonly size: number;
  /** Signed by both; undefined before the first. */
  readonly note: string | undefined;
  /** The verifier key by which the webhook signed it. */
  readonly webhookKey: string | undefined;
  readonly signedAt: string | undefined;
  /** Why the webhook cosigns no further, as it was reported; undefined while it does. */
  readonly refusal: string | undefined;
  readonly refusedAt: string | undefined;
}

export interface AuditCheckpointStore {
  find(vaultId: Id<'vlt'>, webhookId: string): Promise<AuditCheckpoint | undefined>;

  /**
   * Replaces the checkpoint of its webhook.
   *
   * @param from `size` of the one that it replaces; 0 where there is none
   * @returns false, and changes nothing, where another process has replaced it
   */
  put(checkpoint: AuditCheckpoint, from: number): Promise<boolean>;

  /**
   * Vaults whose webhook has acknowledged events behind its last checkpoint, or fewer than that covers; by id, only ids
   * above `after`.
   */
  backlog(page: {
    readonly after: Id<'vlt'> | undefined;
    readonly limit: number;
  }): Promise<readonly Id<'vlt'>[]>;
}
