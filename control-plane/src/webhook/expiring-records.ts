import type { Clock, Id } from '@svault/shared';
import { type TokenMetadata as WebhookToken, tokenMetadataSchema } from '@svault/shared/schemas';
import type { WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';
import type { ApprovalMirror } from './approval-mirror.ts';
import { WebhookCallFailed, isTooLarge } from './call-failed.ts';
import type { OnlineStatus } from './outages.ts';
import { TOKEN_PAGE_SIZES, smallerTokenPage } from './response-limits.ts';
import type { WebhookClient } from './retrying-client.ts';
import { withinTime } from './token-metadata.ts';

/** However many people look, a webhook is asked this often. */
const FRESH_MS = 60_000;
const LOOK_UP_MS = 500;
/** Accounts whose records are remembered, of which each takes some KiB. */
const MAX_ACCOUNTS = 1_000;

interface Known {
  readonly readMs: number;
  readonly tokens: readonly WebhookToken[];
}

/** The webhook's records of credentials that expire soon. */
export type ExpiringRecords = ReturnType<typeof createExpiringRecords>;

export function createExpiringRecords(options: {
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly webhook: WebhookClient;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly mirror: Pick<ApprovalMirror, 'noteRecords'>;
  readonly clock: Clock;
  /** 500 unless given. */
  readonly withinMs?: number | undefined;
}) {
  const { links, webhook, status, mirror, clock, withinMs = LOOK_UP_MS } = options;
  const known = new Map<string, Known>();
  const inHand = new Map<string, Promise<void>>();

  const read = async (link: WebhookLink, expiresBefore: string, limit: number): Promise<WebhookToken[]> => {
    try {
      const body = { op: 'tokens.list', limit, expiresBefore };
      const { items } = (await webhook.call(link, { path: '/v1/storage', body })).body;
      const listed: readonly unknown[] = Array.isArray(items) ? items.slice(0, limit) : [];
      return listed.flatMap((item) => tokenMetadataSchema.safeParse(item).data ?? []);
    } catch (error) {
      const smaller = isTooLarge(error) ? smallerTokenPage(limit) : undefined;
      if (smaller === undefined) throw error;
      return read(link, expiresBefore, smaller);
    }
  };

  const refresh = async (key: string, link: WebhookLink, expiresBefore: string): Promise<void> => {
    const readMs = clock.monotonic();
    const readAndNoted = async (): Promise<readonly WebhookToken[]> => {
      const fresh = await read(link, expiresBefore, TOKEN_PAGE_SIZES[0]);
      // A reader is answered even when a full disk does not take the note.
      await mirror.noteRecords(link.vaultId, fresh).catch(() => undefined);
      return fresh;
    };
    const tokens = await readAndNoted().catch((error: unknown) => {
      if (!(error instanceof WebhookCallFailed)) throw error;
      return known.get(key)?.tokens ?? [];
    });
    known.delete(key);
    known.set(key, { readMs, tokens });
    const [oldest] = known.keys();
    if (known.size > MAX_ACCOUNTS && oldest !== undefined) known.delete(oldest);
  };

  return {
    /**
     * The first page of the records that expire before a time, expired ones too, as the webhook listed them at most a minute
     * ago: those from before where it does not answer within 500 ms, and none where it never did.
     */
    read: async (vaultId: Id<'vlt'>, expiresBefore: string): Promise<readonly WebhookToken[]> => {
      const link = await links.find(vaultId);
      if (link === undefined) return [];
      const key = `${vaultId} ${link.webhookId}`;
      const isFresh = clock.monotonic() < (known.get(key)?.readMs ?? -Infinity) + FRESH_MS;
      if (!isFresh && status.offlineForSeconds(vaultId) === 0) {
        const refreshing =
          inHand.get(key) ?? refresh(key, link, expiresBefore).finally(() => inHand.delete(key));
        inHand.set(key, refreshing);
        await withinTime(refreshing, withinMs);
      }
      return known.get(key)?.tokens ?? [];
    },
  };
}
