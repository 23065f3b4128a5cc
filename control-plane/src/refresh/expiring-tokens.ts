import { type Clock, formatTime } from '@svault/shared';
import { type TokenMetadata, cursorSchema, tokenMetadataSchema } from '@svault/shared/schemas';
import type { WebhookLink } from '../core/webhook-link.ts';
import { WebhookCallFailed, isTooLarge } from '../webhook/call-failed.ts';
import type { WebhookAnswer } from '../webhook/client.ts';
import { TOKEN_PAGE_SIZES, smallerTokenPage } from '../webhook/response-limits.ts';
import type { WebhookClient } from '../webhook/retrying-client.ts';
import { REFRESH_AHEAD_MS } from './schedule.ts';

/** Bounds the list of a webhook that always returns a cursor. */
const MAX_PAGES = 200;

/** The tokens of a webhook that expire within the hour, page by page. @throws WebhookCallFailed */
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
      return await webhook.call(link, { path: '/v1/storage', body });
    } catch (error) {
      const smaller = isTooLarge(error) ? smallerTokenPage(limit) : undefined;
      if (smaller === undefined) throw error;
      limit = smaller;
      return read();
    }
  };
  for (let page = 0; page < MAX_PAGES; page++) {
    const { body } = await read();
    yield tokensOf(body, limit);
    if (body['nextCursor'] === undefined) return;
    cursor = cursorSchema.safeParse(body['nextCursor']).data;
    if (cursor === undefined) throw garbage();
  }
}

/** Stops at the first malformed token: describing thousands of them would take longer than reading them. */
function tokensOf({ items }: Record<string, unknown>, limit: number): readonly TokenMetadata[] {
  if (!Array.isArray(items) || items.length > limit) throw garbage();
  return items.map((item) => {
    const { data } = tokenMetadataSchema.safeParse(item);
    if (data === undefined) throw garbage();
    return data;
  });
}

const garbage = (): WebhookCallFailed =>
  new WebhookCallFailed('garbage', 'the answer to tokens.list does not follow the protocol');
