import { ApiError } from '../core/errors.ts';
import { RETRY_AFTER_SECONDS } from './outages.ts';
import { whyUnreachable } from './why-unreachable.ts';

/**
 * Why a signed call failed.
 *
 * - `unreachable`: connection error, timeout, or 502/503/504 without a JSON `code` (PROTOCOL.md TRN-34)
 * - `address`: the egress rules deny the address; no connection was made
 * - `refused`: the webhook answered with a code of PROTOCOL.md section 9
 * - `garbage`: the answer does not follow the protocol, or is too large
 * - `held_back`: no call was made, since the account has spent its budget (`call-budget.ts`)
 */
type CallFailure = 'unreachable' | 'address' | 'refused' | 'garbage' | 'held_back';

export class WebhookCallFailed extends Error {
  readonly failure: CallFailure;
  /** The HTTP status, where something answered. */
  readonly status: number | undefined;
  /** The webhook's code, where `failure` is `refused`. */
  readonly code: string | undefined;
  /** `Retry-After` of the webhook, in whole seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** `unreachable` by a timeout, which alone is no outage. */
  readonly isLate: boolean;
  /** `garbage` by size. */
  readonly isTooLarge: boolean;
  /** Bytes of the answer that were read. */
  readonly bytes: number;

  constructor(
    failure: CallFailure,
    message: string,
    facts: Partial<Omit<WebhookCallFailed, 'failure' | 'name' | 'message' | 'stack'>> = {},
  ) {
    super(message, { cause: facts.cause });
    this.name = 'WebhookCallFailed';
    this.failure = failure;
    this.status = facts.status;
    this.code = facts.code;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.isLate = facts.isLate ?? false;
    this.isTooLarge = facts.isTooLarge ?? false;
    this.bytes = facts.bytes ?? 0;
  }
}

/** The failure of an operation whose answer is not of the protocol's form. */
export const garbage = (operation: string): WebhookCallFailed =>
  new WebhookCallFailed('garbage', `the answer to ${operation} does not follow the protocol`);

/** Whether the answer was only too large: the answer to a smaller request may fit. */
export const isTooLarge = (error: unknown): boolean => error instanceof WebhookCallFailed && error.isTooLarge;

/**
 * Why a call failed, for the owner: what to do is in it.
 *
 * @param url of the webhook
 * @returns undefined where none failed
 */
export function problemOfCall(error: WebhookCallFailed | undefined, url: string): string | undefined {
  if (error?.code === 'SIGNATURE_INVALID')
    return `The webhook rejects the signature of this control plane; its log says why, as reason. before_restore: wait 30 seconds. expired, not_yet_valid: the clocks differ by more than 30 seconds. mac: SV_WEBHOOK_URL of the webhook must be ${url}. Otherwise ${BIND_AGAIN}`;
  if (error?.code === 'UNAVAILABLE')
    return 'The webhook cannot write to its database now. Its log and its /readyz say why: make room if its disk is full.';
  const refusal = asRefusal(error);
  return refusal instanceof ApiError ? refusal.message : undefined;
}

/** The order matters: each step denies the next one until it is done. */
export const BIND_AGAIN =
  'bind again: svault webhook unbind, then unseal-bind on the machine of the webhook, then svault webhook bind with the link of its bind-link.';

/** The denial of a management request whose call to the webhook failed. Other errors pass unchanged. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof WebhookCallFailed)) return error;
  const { failure, code, message } = error;
  const about = { cause: error, reason: message };
  switch (failure) {
    case 'unreachable':
      return new ApiError(
        'WEBHOOK_UNAVAILABLE',
        `The webhook cannot be reached: ${whyUnreachable(error)} Then try again.`,
        { ...about, details: { retryAfter: RETRY_AFTER_SECONDS } },
      );
    case 'address':
      return new ApiError(
        'WEBHOOK_REFUSED',
        'The webhook has an address that this service must not call. The operator can allow it by SV_EGRESS_ALLOW.',
        about,
      );
    case 'refused':
      return new ApiError('WEBHOOK_REFUSED', `The webhook refused the call (${code}).`, {
        ...about,
        details: { webhookCode: code },
      });
    case 'held_back':
      return new ApiError('WEBHOOK_UNAVAILABLE', `The webhook was not called: ${message}. Try again later.`, {
        ...about,
        details: { retryAfter: error.retryAfterSeconds ?? RETRY_AFTER_SECONDS },
      });
    case 'garbage':
      return new ApiError(
        'WEBHOOK_REFUSED',
        error.isTooLarge
          ? `The webhook's answer is too large: ${message}. Update the webhook.`
          : "The answer from the webhook's address does not follow the protocol. Check the address and any proxy in front of it.",
        about,
      );
  }
}
