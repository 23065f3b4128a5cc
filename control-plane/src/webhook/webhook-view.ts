import { type Clock, formatTime } from '@svault/shared';
import { signedHealthSchema } from '@svault/shared/schemas';
import type { LinkedWebhook } from './linked-webhook.ts';
import { WebhookCallFailed } from './webhook-call-failed.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import type { WebhookLinkStore } from '../core/webhook-link-store.ts';

/** How a bound webhook is doing. */
export interface WebhookView {
  readonly link: WebhookLink;
  /** Whether it answered a signed call just now. */
  readonly reachable: boolean;
}

/** For somebody who looks at a page: the answer of a webhook that works comes in milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;

/** Asks the webhook now, and keeps what it says of itself. */
export async function probeWebhook(
  link: WebhookLink,
  {
    links,
    webhook,
    clock,
  }: {
    readonly links: Pick<WebhookLinkStore, 'noteSeen'>;
    readonly webhook: LinkedWebhook;
    readonly clock: Clock;
  },
): Promise<WebhookView> {
  try {
    const call = { path: '/v1/health', timeoutMs: PROBE_TIMEOUT_MS, repeat: false } as const;
    const { body, latencyMs } = await webhook.call(link, call);
    const { capabilities } = signedHealthSchema.safeParse(body).data ?? link;
    const at = formatTime(clock.now());
    // Only a note: that a full disk does not take it must not keep the owner from the answer.
    await links.noteSeen(link, { at, latencyMs, capabilities }).catch(() => undefined);
    return { link: { ...link, capabilities, lastSeenAt: at, latencyMs }, reachable: true };
  } catch (error) {
    if (!(error instanceof WebhookCallFailed)) throw error;
    return { link, reachable: false };
  }
}
