import { type Clock, formatTime } from '@svault/shared';
import { type TokenMetadata, cursorSchema, tokenMetadataSchema } from '@svault/shared/schemas';
import { TOKEN_PAGE_SIZES, smallerTokenPage } from '../webhook/response-limits.ts';
import type { WebhookClient } from '../webhook/retrying-client.ts';
import type { WebhookAnswer } from '../webhook/client.ts';
import { WebhookCallFailed, isTooLarge } from '../webhook/call-failed.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import { REFRESH_AHEAD_MS } from './schedule.ts';

/** A webhook whose list has no end is not read for ever. */
const MAX_PAGES = 200;

/** What a webhook holds that ends within the hour, page by page. @throws WebhookCallFailed */
export async function* expiringTokens(
  webhook: WebhookClient,
  link: WebhookLink,
  clock: Clock,
): AsyncGenerator<readonly TokenMetadata[]> {
  const expiresBefore = formatTime(clock.now() + REFRESH_AHEAD_MS);
  let limit: number = TOKEN_PAGE_SIZES[0];
  let cursor: string | undefined;
  const read = async (): Promise<WebhookAnswer> => {
    const body = { op: 'tokens.list', limit, expiresBefore, ...(cursor !== undefined && { cursor }) };
    try {
      // Who is away now is asked again in a minute.
      return await webhook.call(link, { path: '/v1/storage', body });
    } catch (error) {
      const smaller = isTooLarge(error) ? smallerTokenPage(limit) : undefined;
      if (smaller === undefined) throw error;
      limit = smaller;
      return read();
    }
  };
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await read();
    yield tokensOf(answer.body, limit);
    const { nextCursor } = answer.body;
    if (nextCursor === undefined) return;
    cursor = cursorSchema.safeParse(nextCursor).data;
    if (cursor === undefined) throw notTheProtocol();
  }
}

/** Up to the first one that is wrong: to say of thousands what is wrong with each would take longer than to read them. */
function tokensOf({ items }: Record<string, unknown>, limit: number): readonly TokenMetadata[] {
  if (!Array.isArray(items) || items.length > limit) throw notTheProtocol();
  return items.map((item) => {
    const { data } = tokenMetadataSchema.safeParse(item);
    if (data === undefined) throw notTheProtocol();
    return data;
  });
}

const notTheProtocol = (): WebhookCallFailed =>
  new WebhookCallFailed('garbage', 'an answer that is none of tokens.list');
