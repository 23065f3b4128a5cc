import { type Clock, formatTime, parseTime } from '@svault/shared';
import {
  APPROVAL_LIMITS,
  type ApprovalAnswer,
  type ApprovalRequest,
  type ApprovalState,
  approvalAnswerSchema,
  approvalListAnswerSchema,
} from '@svault/shared/schemas';
import type { WebhookLink } from '../core/webhook-link.ts';
import { garbage } from './call-failed.ts';
import type { WebhookClient } from './retrying-client.ts';

/** Approvals that a webhook decides by itself (PROTOCOL.md section 5.10). */
export interface WebhookApprovals {
  /** Asks for an approval of one use; the same use again is the same approval. @throws WebhookCallFailed */
  ask(link: WebhookLink, request: ApprovalRequest): Promise<ApprovalAnswer>;
  /** Those of these ids that the webhook knows. @param ids at most 100 @throws WebhookCallFailed */
  states(link: WebhookLink, ids: readonly string[]): Promise<readonly ApprovalState[]>;
}

export function createWebhookApprovals({
  webhook,
  clock,
}: {
  readonly webhook: WebhookClient;
  readonly clock: Pick<Clock, 'now'>;
}): WebhookApprovals {
  const endOf = (expiresAt: string): string | undefined => {
    const endMs = parseTime(expiresAt);
    return endMs === undefined || endMs > clock.now() + MAX_LIFETIME_MS ? undefined : formatTime(endMs);
  };
  return {
    ask: async (link, request) => {
      const { body } = await webhook.call(link, { path: '/v1/approvals', body: request });
      const { data } = approvalAnswerSchema.safeParse(body);
      if (data === undefined) throw garbage('/v1/approvals');
      if (!('id' in data)) return data;
      const [url, expiresAt] = [pageOf(link, data.url), endOf(data.expiresAt)];
      if (url === undefined || expiresAt === undefined) throw garbage('/v1/approvals');
      return { ...data, url, expiresAt };
    },
    states: async (link, ids) => {
      const body = { ids: ids.slice(0, APPROVAL_LIMITS.listIds) };
      const answer = await webhook.call(link, { path: '/v1/approvals/list', body });
      const { data } = approvalListAnswerSchema.safeParse(answer.body);
      if (data === undefined) throw garbage('/v1/approvals/list');
      return data.items.flatMap((state) => {
        const expiresAt = endOf(state.expiresAt);
        return expiresAt !== undefined && ids.includes(state.id) ? [{ ...state, expiresAt }] : [];
      });
    },
  };
}

/** PROTOCOL.md APR-02: a standing one lasts the longest. An hour more, for clocks that differ. */
const MAX_LIFETIME_MS = (APPROVAL_LIMITS.maxStandingSeconds + 3_600) * 1_000;

/**
 * Agents and people are sent there: only to the webhook itself, however it words its answer.
 *
 * @returns the address without what could pass for other text in a message, such as a line break
 */
function pageOf({ url: base }: WebhookLink, url: string): string | undefined {
  const page = URL.canParse(url) ? new URL(url) : undefined;
  return page?.origin === new URL(base).origin && page.username === '' ? page.href : undefined;
}
