import type { Id } from '@svault/shared';

/**
 * What a decision looks at whoever asks, an agent or a proxy, read at one moment: a suspend, revoke, lock or unbind that
 * was answered before the request is in it. Flat, so that one row needs no reshaping.
 */
export interface CallerSubject {
  readonly vaultId: Id<'vlt'>;
  readonly lastUsedAt: string | null;
  readonly vaultLockedAt: string | null;
  /** Of the account, for its ceiling; counted no further than matters for it (`limits/scopes.ts`). */
  readonly activeAgents: number;
  readonly proxies: number;
  /** Enabled policies of the caller and of the token asked for, in the form of `PolicyQuestion`; null where there are none. */
  readonly policies: string | null;
  /** What was counted of these policies' rules so far, in the form of `PolicyQuestion`; null where nothing was. */
  readonly policyUsage: string | null;
  /** Of the vault; it moves with every change of a policy or an attachment. */
  readonly policyRevision: number;

  /**
   * The vault's webhook; all null where none is bound, or where none of its answers came under its key yet: until then
   * it refuses tickets, and none is signed (protocol.md 5.1).
   */
  readonly webhookId: string | null;
  readonly webhookUrl: string | null;
  readonly keyId: string | null;
  /** base64url of the key under the master key. */
  readonly keyWrapped: string | null;
}

/** A vault's webhook as a ticket needs it. */
export interface BoundWebhook {
  readonly webhookId: string;
  readonly url: string;
  readonly keyId: string;
  /** base64url of the key under the master key. */
  readonly keyWrapped: string;
}

/** @returns undefined where no ticket may be signed */
export function webhookOf(subject: CallerSubject): BoundWebhook | undefined {
  const { webhookId, webhookUrl, keyId, keyWrapped } = subject;
  if (webhookId === null || webhookUrl === null || keyId === null || keyWrapped === null) return undefined;
  return { webhookId, url: webhookUrl, keyId, keyWrapped };
}

/** `lastUsedAt` is written at most once a minute, so that it costs the hot path nothing. */
const LAST_USED_RESOLUTION_MS = 60_000;

/** Whether `lastUsedAt` is to be written again. */
export const isStale = ({ lastUsedAt }: Pick<CallerSubject, 'lastUsedAt'>, nowMs: number): boolean =>
  lastUsedAt === null || nowMs - Date.parse(lastUsedAt) >= LAST_USED_RESOLUTION_MS;
