import { setTimeout as delay } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import {
  type TokenMetadata as WebhookToken,
  storageAnswerSchemas,
  storageBatchAnswerSchema,
  tokenMetadataSchema,
} from '@svault/shared/schemas';
import { TOKEN_PAGE_SIZES, smallerTokenPage } from './response-limits.ts';
import type { ApprovalMirror } from './approval-mirror.ts';
import type { WebhookClient } from './retrying-client.ts';
import type { OnlineStatus } from './outages.ts';
import { WebhookCallFailed, isTooLarge } from './call-failed.ts';
import type { WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';

export type { WebhookToken };

/** The state of the webhook's record after its token was deleted. */
export const REMOVALS = ['deleted', 'absent', 'unreachable', 'not_bound'] as const;
type Removal = (typeof REMOVALS)[number];

const LOOK_UP_MS = 500;

/** The webhook's records of the tokens: metadata, never a credential. */
export type WebhookRecords = ReturnType<typeof createWebhookRecords>;

export function createWebhookRecords(options: {
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly webhook: WebhookClient;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly mirror: Pick<ApprovalMirror, 'noteRecords'>;
  /** 500 unless given. */
  readonly withinMs?: number | undefined;
}) {
  const { links, webhook, status, mirror, withinMs = LOOK_UP_MS } = options;
  const call = async (link: WebhookLink, body: object): Promise<Record<string, unknown>> =>
    (await webhook.call(link, { path: '/v1/storage', body })).body;

  return {
    /**
     * Records by service name, as far as the webhook returns them within 500 ms: the list of tokens does not wait longer for
     * its optional part.
     *
     * @param serviceNames at most 100
     */
    lookUp: async (
      vaultId: Id<'vlt'>,
      serviceNames: readonly string[],
    ): Promise<ReadonlyMap<string, WebhookToken>> => {
      const link = serviceNames.length === 0 ? undefined : await links.find(vaultId);
      if (link === undefined || status.offlineForSeconds(vaultId) > 0) return new Map();
      const held = new Map<string, WebhookToken>();
      let isOver = false;
      const read = async (size: number, from: number): Promise<void> => {
        const names = serviceNames.slice(from, from + size);
        if (isOver || names.length === 0) return;
        const batch = names.map((serviceName) => ({ op: 'tokens.get', serviceName }));
        try {
          const tokens = readTokens(await call(link, { batch }), names);
          for (const token of tokens) held.set(token.serviceName, token);
          // The list is answered although a full disk does not take the note.
          await mirror.noteRecords(vaultId, tokens).catch(() => undefined);
        } catch (error) {
          const smaller = isTooLarge(error) ? smallerTokenPage(size) : undefined;
          if (smaller !== undefined) return read(smaller, from);
          if (error instanceof WebhookCallFailed) return;
          throw error;
        }
        return read(size, from + size);
      };
      // The call is not aborted: slower than this is not offline.
      await withinTime(read(TOKEN_PAGE_SIZES[0], 0), withinMs);
      isOver = true;
      return held;
    },

    /** Deletes a record; the webhook keeps it for 7 days (PROTOCOL.md section 5.5). */
    remove: async (vaultId: Id<'vlt'>, serviceName: string): Promise<Removal> => {
      const link = await links.find(vaultId);
      if (link === undefined) return 'not_bound';
      try {
        const body = await call(link, { op: 'tokens.delete', serviceName });
        const answer = storageAnswerSchemas['tokens.delete'].safeParse(body);
        return answer.data?.deleted === true ? 'deleted' : 'absent';
      } catch (error) {
        if (!(error instanceof WebhookCallFailed)) throw error;
        return error.code === 'NOT_FOUND' ? 'absent' : 'unreachable';
      }
    },
  };
}

/** Waits for work, but not for longer than that; the work goes on. */
export async function withinTime(work: Promise<void>, ms: number): Promise<void> {
  const waiting = new AbortController();
  const late = delay(ms, undefined, { signal: waiting.signal, ref: false }).catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    waiting.abort();
  }
}

/** Drops every answer that does not have the protocol's form, or has another name than was asked for. */
function readTokens(body: Record<string, unknown>, serviceNames: readonly string[]): readonly WebhookToken[] {
  const { data } = storageBatchAnswerSchema.safeParse(body);
  const results = (data?.results ?? []).slice(0, serviceNames.length);
  const tokens = results.map((result) => tokenMetadataSchema.safeParse(result).data);
  return tokens.filter(
    (token, index): token is WebhookToken => token !== undefined && token.serviceName === serviceNames[index],
  );
}
