import { setTimeout as delay } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import {
  type TokenMetadata as WebhookToken,
  storageAnswerSchemas,
  storageBatchAnswerSchema,
  tokenMetadataSchema,
} from '@svault/shared/schemas';
import type { LinkedWebhook } from '../webhook-link/linked-webhook.ts';
import type { OnlineStatus } from '../webhook-link/online-status.ts';
import { WebhookCallFailed } from '../webhook-link/webhook-call-failed.ts';
import type { WebhookLinkStore } from '../webhook-link/webhook-link-store.ts';
import type { WebhookLink } from '../webhook-link/webhook-link.ts';

export type { WebhookToken };

/** What became of the record at the webhook when its token was deleted. */
export const REMOVALS = ['deleted', 'absent', 'unreachable', 'not_bound'] as const;
export type Removal = (typeof REMOVALS)[number];

/** The records behind the tokens, as far as the vault's webhook tells: metadata, never a credential. */
export interface WebhookRecords {
  /**
   * By service name, only those that the webhook holds. Nothing at all when it does not answer within 500 ms: a list
   * is not held up by what only adorns it (contract, `GET /api/tokens`).
   *
   * @param serviceNames at most 100, the longest batch
   */
  lookUp(vaultId: Id<'vlt'>, serviceNames: readonly string[]): Promise<ReadonlyMap<string, WebhookToken>>;

  /** Deletes a record; the webhook keeps it for 7 days (protocol 5.5). */
  remove(vaultId: Id<'vlt'>, serviceName: string): Promise<Removal>;
}

/** Contract, `GET /api/tokens`. */
const LOOK_UP_MS = 500;

const NONE: ReadonlyMap<string, WebhookToken> = new Map();

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
      if (link === undefined || status.offlineForSeconds(vaultId) > 0) return NONE;
      const batch = serviceNames.map((serviceName) => ({ op: 'tokens.get', serviceName }));
      // The call goes on when nobody waits for it any more: being slow here must not count as being offline.
      const answer = call(link, { batch }).then(
        (body) => readTokens(body, serviceNames),
        (error: unknown) => {
          if (error instanceof WebhookCallFailed) return NONE;
          throw error;
        },
      );
      return withinTime(answer, withinMs);
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

async function withinTime(
  answer: Promise<ReadonlyMap<string, WebhookToken>>,
  ms: number,
): Promise<ReadonlyMap<string, WebhookToken>> {
  const waiting = new AbortController();
  const late = delay(ms, NONE, { signal: waiting.signal, ref: false }).catch(() => NONE);
  try {
    return await Promise.race([answer, late]);
  } finally {
    waiting.abort();
  }
}

/** A webhook may be of any make: what it says counts only where it has the protocol's form and the name asked for. */
function readTokens(
  body: Record<string, unknown>,
  serviceNames: readonly string[],
): ReadonlyMap<string, WebhookToken> {
  const { data } = storageBatchAnswerSchema.safeParse(body);
  const tokens = (data?.results ?? []).map((result) => tokenMetadataSchema.safeParse(result).data);
  const matching = tokens.filter((token, index) => token?.serviceName === serviceNames[index]);
  return new Map(matching.flatMap((token) => (token === undefined ? [] : [[token.serviceName, token]])));
}
