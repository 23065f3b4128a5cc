import { setTimeout as delay } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import {
  type TokenMetadata as WebhookToken,
  storageAnswerSchemas,
  storageBatchAnswerSchema,
  tokenMetadataSchema,
} from '@svault/shared/schemas';
import { TOKENS_AT_ONCE, fewerTokens } from './response-limits.ts';
import type { LinkedWebhook } from './retrying-client.ts';
import type { OnlineStatus } from './outages.ts';
import { WebhookCallFailed, isTooLarge } from './call-failed.ts';
import type { WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';

export type { WebhookToken };

/** What became of the record at the webhook when its token was deleted. */
export const REMOVALS = ['deleted', 'absent', 'unreachable', 'not_bound'] as const;
export type Removal = (typeof REMOVALS)[number];

/** The records behind the tokens, as far as the vault's webhook tells: metadata, never a credential. */
export interface WebhookRecords {
  /**
   * By service name, only those that the webhook holds and says so of within 500 ms: a list is not held up by what only
   * adorns it (contract, `GET /api/tokens`).
   *
   * @param serviceNames at most 100
   */
  lookUp(vaultId: Id<'vlt'>, serviceNames: readonly string[]): Promise<ReadonlyMap<string, WebhookToken>>;

  /** Deletes a record; the webhook keeps it for 7 days (protocol 5.5). */
  remove(vaultId: Id<'vlt'>, serviceName: string): Promise<Removal>;
}

/** Contract, `GET /api/tokens`. */
const LOOK_UP_MS = 500;

export function createWebhookRecords(options: {
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly webhook: Pick<LinkedWebhook, 'call'>;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  /** Where it is not to be as short as the contract says. */
  readonly withinMs?: number | undefined;
}): WebhookRecords {
  const { links, webhook, status, withinMs = LOOK_UP_MS } = options;
  const call = async (link: WebhookLink, body: object): Promise<Record<string, unknown>> =>
    (await webhook.call(link, { path: '/v1/storage', body, repeat: false })).body;

  return {
    lookUp: async (vaultId, serviceNames) => {
      const link = serviceNames.length === 0 ? undefined : await links.find(vaultId);
      if (link === undefined || status.offlineForSeconds(vaultId) > 0) return new Map();
      const held = new Map<string, WebhookToken>();
      let isLate = false;
      const read = async (size: number, from: number): Promise<void> => {
        const names = serviceNames.slice(from, from + size);
        if (isLate || names.length === 0) return;
        const batch = names.map((serviceName) => ({ op: 'tokens.get', serviceName }));
        try {
          for (const token of readTokens(await call(link, { batch }), names))
            held.set(token.serviceName, token);
        } catch (error) {
          const fewer = isTooLarge(error) ? fewerTokens(size) : undefined;
          if (fewer !== undefined) return read(fewer, from);
          if (error instanceof WebhookCallFailed) return;
          throw error;
        }
        return read(size, from + size);
      };
      // A call goes on when nobody waits for it any more: being slow here must not count as being offline.
      await withinTime(read(TOKENS_AT_ONCE[0], 0), withinMs);
      isLate = true;
      return held;
    },

    remove: async (vaultId, serviceName) => {
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

async function withinTime(work: Promise<void>, ms: number): Promise<void> {
  const waiting = new AbortController();
  const late = delay(ms, undefined, { signal: waiting.signal, ref: false }).catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    waiting.abort();
  }
}

/** A webhook may be of any make: what it says counts only where it has the protocol's form and the name asked for. */
function readTokens(body: Record<string, unknown>, serviceNames: readonly string[]): readonly WebhookToken[] {
  const { data } = storageBatchAnswerSchema.safeParse(body);
  const results = (data?.results ?? []).slice(0, serviceNames.length);
  const tokens = results.map((result) => tokenMetadataSchema.safeParse(result).data);
  return tokens.filter(
    (token, index): token is WebhookToken => token !== undefined && token.serviceName === serviceNames[index],
  );
}
