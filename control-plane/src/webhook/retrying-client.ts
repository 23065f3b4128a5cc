import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, formatTime } from '@svault/shared';
import { type Capability, signedHealthSchema } from '@svault/shared/schemas';
import type { WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';
import type { CallBudget } from './call-budget.ts';
import { WebhookCallFailed } from './call-failed.ts';
import { CALL_TIMEOUT_MS, type CountedAnswer, type SignedClient, type WebhookAnswer } from './client.ts';
import type { OnlineStatus } from './outages.ts';
import type { SignatureAlarm } from './signature-alarm.ts';
import type { WebhookKeys } from './webhook-keys.ts';

export type WebhookRequest = {
  readonly body?: object;
  /** 10 s unless given. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
} & (
  | {
      readonly path: '/v1/health' | '/v1/refresh-notify' | '/v1/storage';
      /** Tries twice more while the webhook is unreachable; false unless given. */
      readonly retry?: boolean;
    }
  // A second call could spend a refresh token, or a new key, twice (PROTOCOL.md TRN-26).
  | { readonly path: '/v1/exchange' | '/v1/refresh'; readonly retry?: never }
  // Somebody waits for it and asks again.
  | { readonly path: '/v1/approvals' | '/v1/approvals/list'; readonly retry?: never }
);

/** The client of bound webhooks: each call is within the account's budget and counts for its online status. */
export interface WebhookClient {
  /** Signs by the link's `key`. @throws WebhookCallFailed */
  call(link: WebhookLink, request: WebhookRequest): Promise<WebhookAnswer>;
}

/** Waits so many milliseconds, or until the signal aborts. */
export type Wait = (ms: number, signal: AbortSignal | undefined) => Promise<unknown>;

/** PROTOCOL.md TRN-27. */
const RETRY_AFTER_MS = [1_000, 3_000];

const waitFor: Wait = (ms, signal) => delay(ms, undefined, { ref: false, ...(signal && { signal }) });

export function createWebhookClient(options: {
  readonly client: SignedClient;
  readonly keys: WebhookKeys;
  readonly status: OnlineStatus;
  readonly budget: CallBudget;
  readonly signatureAlarm: SignatureAlarm;
  /** Waits between two tries; by the system's timers unless given. */
  readonly wait?: Wait;
}): WebhookClient {
  const { client, keys, status, budget, signatureAlarm, wait = waitFor } = options;

  const callOnce = async (
    { vaultId, url, key: wrapped, pendingKey }: WebhookLink,
    { path, body, timeoutMs = CALL_TIMEOUT_MS, signal }: WebhookRequest,
  ): Promise<WebhookAnswer> => {
    const abort = signal && { signal };
    const place = await budget.enter(vaultId, { timeoutMs, ...abort });
    const outcome = status.callStarted(vaultId);
    let bytes = 0;
    try {
      const key = keys.open(vaultId, wrapped);
      const answer: CountedAnswer = await client.call({
        url,
        path,
        key,
        timeoutMs,
        ...(body && { body }),
        ...abort,
      });
      bytes = answer.bytes;
      outcome.answered();
      return answer;
    } catch (error) {
      if (error instanceof WebhookCallFailed) {
        bytes = error.bytes;
        if (error.failure === 'unreachable') outcome.failed(error.isLate ? 'late' : 'broken');
        if (error.failure === 'refused') outcome.answered();
        // A webhook may not know the key of an interrupted rotation.
        if (error.code === 'SIGNATURE_INVALID' && wrapped.id !== pendingKey?.id)
          signatureAlarm(vaultId, { path, keyId: wrapped.id, url });
      }
      throw error;
    } finally {
      place.leave(bytes);
    }
  };

  return {
    call: async (link, request) => {
      const { signal } = request;
      for (const pauseMs of request.retry === true ? RETRY_AFTER_MS : []) {
        try {
          return await callOnce(link, request);
        } catch (error) {
          if (!isUnreachable(error) || signal?.aborted === true) throw error;
          await wait(pauseMs, signal);
        }
      }
      return callOnce(link, request);
    },
  };
}

const isUnreachable = (error: unknown): boolean =>
  error instanceof WebhookCallFailed && error.failure === 'unreachable';

/** What a signed health call reads and writes. */
export interface HealthDependencies {
  readonly links: Pick<WebhookLinkStore, 'noteSeen'>;
  readonly webhook: WebhookClient;
  readonly clock: Clock;
}

/**
 * Makes a signed health call.
 *
 * @returns the link as `note` stores it, with the reported capabilities; `webhookId`, `version` and `serviceUrl`, the control plane
 *   that it is bound to, are undefined where the answer does not have them
 * @throws WebhookCallFailed
 */
export async function callHealth(
  { links, webhook, clock }: HealthDependencies,
  link: WebhookLink,
  request: { readonly timeoutMs?: number; readonly retry?: boolean } = {},
): Promise<{
  readonly link: WebhookLink;
  readonly webhookId: string | undefined;
  readonly version: string | undefined;
  readonly serviceUrl: string | undefined;
  readonly note: () => Promise<unknown>;
}> {
  const { body, latencyMs } = await webhook.call(link, { path: '/v1/health', ...request });
  const { data } = signedHealthSchema.safeParse(body);
  const capabilities = data?.capabilities ?? link.capabilities;
  const at = formatTime(clock.now());
  return {
    link: { ...link, capabilities, latencyMs, lastSeenAt: at },
    webhookId: data?.webhookId,
    version: data?.version,
    serviceUrl: data?.serviceUrl,
    note: () => links.noteSeen(link, { capabilities, latencyMs, at }),
  };
}

/**
 * Whether a webhook has a capability. It is asked where the link does not have it: an update may have added it.
 *
 * @throws WebhookCallFailed
 */
export async function hasCapability(
  dependencies: HealthDependencies,
  link: WebhookLink,
  needed: Capability,
): Promise<boolean> {
  if (link.capabilities.includes(needed)) return true;
  const seen = await callHealth(dependencies, link);
  await seen.note();
  return seen.link.capabilities.includes(needed);
}

/** A page waits for it: a webhook that works answers within milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;

export interface WebhookStatus {
  readonly link: WebhookLink;
  /** Whether it has just answered a signed call. */
  readonly reachable: boolean;
  /** Why it has not, where that is known. */
  readonly failure?: WebhookCallFailed;
  /** The address of the control plane that it takes tickets of, where it says so. */
  readonly serviceUrl?: string | undefined;
  /** Of its program, where it says so. */
  readonly version?: string | undefined;
}

/** Calls a bound webhook and stores the capabilities that it reports. */
export async function probeWebhook(
  dependencies: HealthDependencies,
  link: WebhookLink,
): Promise<WebhookStatus> {
  try {
    const seen = await callHealth(dependencies, link, { timeoutMs: PROBE_TIMEOUT_MS });
    // The owner gets the answer although a full disk does not take the note.
    await seen.note().catch(() => undefined);
    return { link: seen.link, reachable: true, serviceUrl: seen.serviceUrl, version: seen.version };
  } catch (error) {
    if (!(error instanceof WebhookCallFailed)) throw error;
    return { link, reachable: false, failure: error };
  }
}
