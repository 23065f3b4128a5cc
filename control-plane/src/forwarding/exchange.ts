import type { HeaderPairs, ProxyMethod, WebhookErrorCode } from '@svault/shared';
import type { TakeAnswer } from '@svault/shared/egress';
import type { ProxyUse } from '../access/decision.ts';

/** What a caller wants brought to the upstream. */
export interface ProxyExchange {
  readonly method: ProxyMethod;
  /** As received; those that travel are chosen here. */
  readonly fields: HeaderPairs;
  /** Byte for byte. */
  readonly body: Uint8Array;
  /** Aborted once the caller is gone. */
  readonly signal: AbortSignal;
}

/** What an upstream answered that is not handed on. */
type UpstreamCode = 'UPSTREAM_REDIRECT' | 'UPSTREAM_UNAUTHORIZED' | 'UPSTREAM_UNSUPPORTED';

/** Why the upstream's answer does not come; in the terms of this service's door. */
export interface ForwardRefusal {
  readonly status: number;
  readonly code: WebhookErrorCode | UpstreamCode | 'WEBHOOK_UNAVAILABLE';
  readonly error: string;
  readonly retryAfterSeconds?: number | undefined;
}

/**
 * Brings an exchange that was decided and written down to where it is to go.
 *
 * @param take is told the head of the upstream's answer, once, with the fields that travel; what it returns takes the body
 *   as it comes, and is destroyed where that breaks off
 * @returns undefined where the answer was handed on, whole or broken off, or where the caller is gone: nothing is left to say
 */
export type Forward<Use extends ProxyUse = ProxyUse> = (
  use: Use,
  exchange: ProxyExchange,
  take: TakeAnswer,
) => Promise<ForwardRefusal | undefined>;

export type WebhookUse = Extract<ProxyUse, { readonly kind: 'webhook' }>;
export type SessionUse = Extract<ProxyUse, { readonly kind: 'session' }>;

/** protocol.md section 2: how long an upstream may keep a caller waiting, for the head of its answer and then for more. */
export interface ForwardTimeouts {
  readonly headMs: number;
  readonly idleMs: number;
}
export const FORWARD_TIMEOUTS: ForwardTimeouts = { headMs: 30_000, idleMs: 5 * 60_000 };
