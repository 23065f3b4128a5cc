import type { EndSignal, HeaderPairs, WebhookErrorCode } from '@svault/shared';
import type { TakeAnswer } from '@svault/shared/egress';
import type { OpenApproval } from '../core/approval.ts';
import type { ProxyUse, Waiting } from '../access/decision.ts';

/** A request to be forwarded to the upstream. */
export interface ProxyExchange {
  readonly method: string;
  /** What follows the base URL of an HTTP API, byte for byte: empty, or `/path` and `?query`. Undefined for an MCP server. */
  readonly target?: string | undefined;
  /** As received; forwarding selects those to send. */
  readonly fields: HeaderPairs;
  readonly body: Uint8Array;
  /** As of the request that was decided. */
  readonly reason?: string | undefined;
  readonly waiting?: Waiting | undefined;
  /** Aborted when the caller disconnects, and when the use is no longer allowed. */
  readonly signal: EndSignal;
  /**
   * Resolves when the use is on the control plane's disk (docs/decisions/0011-one-commit-in-sequence.md). Only `/v1/proxy`
   * is called before, since the webhook writes the use to its own disk first. Rejects with ApiError AUDIT_UNAVAILABLE.
   */
  readonly durable: Promise<void>;
  /** Decides again about a use that has waited; aborts `signal` where it is denied. */
  readonly recheck: () => Promise<void>;
}

/** Why an upstream's answer is not forwarded (PROTOCOL.md PRX-41 to PRX-44). */
type UpstreamCode = 'UPSTREAM_REDIRECT' | 'UPSTREAM_UNAUTHORIZED' | 'UPSTREAM_UNSUPPORTED';

/** The denial that the caller gets in place of the upstream's answer. */
export interface ForwardRefusal {
  readonly status: number;
  readonly code: WebhookErrorCode | UpstreamCode | 'WEBHOOK_UNAVAILABLE';
  readonly error: string;
  readonly retryAfterSeconds?: number | undefined;
  /** Of `APPROVAL_REQUIRED`, unless too many are open. */
  readonly approval?: OpenApproval | undefined;
}

/**
 * Forwards an exchange that was allowed and committed to the log.
 *
 * @param take gets the head of the upstream's answer, once, with the fields to forward; the writable that it returns takes
 *   the body, and is destroyed where the answer breaks off
 * @returns undefined where the answer was forwarded, whole or in part, or where the caller has disconnected
 * @throws ApiError AUDIT_UNAVAILABLE where the use did not reach the disk: then nothing of the answer was forwarded
 */
export type Forward<Use extends ProxyUse = ProxyUse> = (
  use: Use,
  exchange: ProxyExchange,
  take: TakeAnswer,
) => Promise<ForwardRefusal | undefined>;

export type WebhookUse = Extract<ProxyUse, { readonly kind: 'webhook' }>;
export type SessionUse = Extract<ProxyUse, { readonly kind: 'session' }>;

/** How long to wait for the head of an answer, and between two bytes of its body. */
export interface ForwardTimeouts {
  readonly headMs: number;
  readonly idleMs: number;
}
/** PROTOCOL.md TRN-22. */
export const FORWARD_TIMEOUTS: ForwardTimeouts = { headMs: 30_000, idleMs: 5 * 60_000 };
