import { type Clock, formatTime } from '@svault/shared';
import { signedHealthSchema } from '@svault/shared/schemas';
import { setTimeout as delay } from 'node:timers/promises';
import type { WebhookLink, WebhookLinkStore, WrappedHmacKey } from '../core/webhook-link.ts';
import type { CallBudget } from './call-budget.ts';
import { WebhookCallFailed } from './call-failed.ts';
import { CALL_TIMEOUT_MS, type CountedAnswer, type SignedClient, type WebhookAnswer } from './client.ts';
import type { OnlineStatus } from './outages.ts';
import type { WebhookKeys } from './webhook-keys.ts';

interface CallCommon {
  readonly body?: object;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Paths that are safe to repeat, and so are repeated unless the caller is in a hurry (protocol.md section 2). */
interface RepeatableCall extends CallCommon {
  readonly path: '/v1/health' | '/v1/refresh-notify' | '/v1/storage';
  /** False for a caller who would rather know at once; true unless given. */
  readonly repeat?: boolean;
}

/** What is never repeated: its second time could spend a refresh token twice. */
interface SingleCall extends CallCommon {
  readonly path: '/v1/refresh';
  readonly repeat: false;
}

export type LinkedCall = RepeatableCall | SingleCall;

/** The webhook of a vault, under the key that is in use. */
export interface LinkedWebhook {
  /** Every try tells whether the webhook is online. @throws WebhookCallFailed */
  call(link: WebhookLink, call: LinkedCall): Promise<WebhookAnswer>;

  /** The signed call that takes a key into use at the webhook. @throws WebhookCallFailed */
  healthUnder(link: WebhookLink, key: WrappedHmacKey, repeat?: boolean): Promise<WebhookAnswer>;

  /** A new key, which the webhook keeps as pending. Never repeated. @throws WebhookCallFailed */
  requestNewKey(link: WebhookLink): Promise<WebhookAnswer>;
}

/** Waits so many milliseconds, or until it is told to stop. */
export type Wait = (ms: number, signal: AbortSignal | undefined) => Promise<unknown>;

const REPEAT_AFTER_MS = [1_000, 3_000];

const waitFor: Wait = (ms, signal) => delay(ms, undefined, { ref: false, ...(signal && { signal }) });

export function createLinkedWebhook(options: {
  readonly client: SignedClient;
  readonly keys: WebhookKeys;
  readonly status: OnlineStatus;
  readonly budget: CallBudget;
  /** How to wait between two tries; by the system's timers unless given. */
  readonly wait?: Wait;
}): LinkedWebhook {
  const { client, keys, status, budget, wait = waitFor } = options;

  const noting = async (
    { vaultId }: WebhookLink,
    {
      timeoutMs = CALL_TIMEOUT_MS,
      signal,
    }: { readonly timeoutMs?: number | undefined; readonly signal?: AbortSignal | undefined },
    call: () => Promise<CountedAnswer>,
  ): Promise<WebhookAnswer> => {
    const place = await budget.enter(vaultId, { timeoutMs, ...(signal && { signal }) });
    const outcome = status.begin(vaultId);
    let bytes = 0;
    try {
      const answer = await call();
      bytes = answer.bytes;
      outcome.answered();
      return answer;
    } catch (error) {
      if (error instanceof WebhookCallFailed) {
        bytes = error.bytes;
        if (error.failure === 'unreachable') outcome.failed(error.isLate ? 'late' : 'broken');
        if (error.failure === 'refused') outcome.answered();
      }
      throw error;
    } finally {
      place.leave(bytes);
    }
  };

  const repeating = async (
    link: WebhookLink,
    wrapped: WrappedHmacKey,
    { path, body, timeoutMs, repeat = true, signal }: LinkedCall,
  ): Promise<WebhookAnswer> => {
    const once = (): Promise<WebhookAnswer> =>
      noting(link, { timeoutMs, signal }, () =>
        client.call({
          url: link.url,
          path,
          key: keys.open(link.vaultId, wrapped),
          ...(body && { body }),
          ...(timeoutMs !== undefined && { timeoutMs }),
          ...(signal && { signal }),
        }),
      );
    for (const pauseMs of repeat ? REPEAT_AFTER_MS : []) {
      try {
        return await once();
      } catch (error) {
        if (!isUnreachable(error) || signal?.aborted === true) throw error;
        await wait(pauseMs, signal);
      }
    }
    return once();
  };

  return {
    call: (link, call) => repeating(link, link.key, call),
    healthUnder: (link, key, repeat = true) => repeating(link, key, { path: '/v1/health', repeat }),
    requestNewKey: (link) =>
      noting(link, {}, () =>
        client.call({
          url: link.url,
          path: '/v1/exchange',
          key: keys.open(link.vaultId, link.key),
          body: { op: 'rotate' },
        }),
      ),
  };
}

const isUnreachable = (error: unknown): boolean =>
  error instanceof WebhookCallFailed && error.failure === 'unreachable';

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
