import { type Clock, formatTime } from '@svault/shared';
import { STORAGE_LIMITS, type TokenMetadata, storageAnswerSchemas } from '@svault/shared/schemas';
import type { LinkedWebhook } from '../webhook-link/linked-webhook.ts';
import { WebhookCallFailed } from '../webhook-link/webhook-call-failed.ts';
import type { WebhookLink } from '../webhook-link/webhook-link.ts';
import { REFRESH_AHEAD_MS } from './due-tokens.ts';

/** 50,000 tokens that end within one hour: a webhook whose list has no end is not read for ever. */
const MOST_PAGES = 100;

/** What a webhook holds that ends within the hour, page by page. @throws WebhookCallFailed */
export async function* expiringTokens(
  webhook: Pick<LinkedWebhook, 'call'>,
  link: WebhookLink,
  clock: Clock,
): AsyncGenerator<readonly TokenMetadata[]> {
  const expiresBefore = formatTime(clock.now() + REFRESH_AHEAD_MS);
  const list = { op: 'tokens.list', limit: STORAGE_LIMITS.listPage, expiresBefore };
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const body = { ...list, ...(cursor !== undefined && { cursor }) };
    // Who is away now is asked again in a minute.
    const answer = await webhook.call(link, { path: '/v1/storage', body, repeat: false });
    const { data } = storageAnswerSchemas['tokens.list'].safeParse(answer.body);
    if (data === undefined) throw new WebhookCallFailed('garbage', 'an answer that is none of tokens.list');
    yield data.items;
    if (data.nextCursor === undefined) return;
    cursor = data.nextCursor;
  }
}
