import type { AppError } from '@svault/shared';
import { type ErrorCode, refusal } from '../errors.ts';

/**
 * Why a signed call brought nothing.
 *
 * - `unreachable`: connection error, timeout, or 502/503/504 without a JSON `code`; the webhook counts as offline
 * - `address`: our own address rules refuse it; no connection was made
 * - `refused`: the webhook answered with a code of protocol section 9
 * - `garbage`: something answered that does not speak the protocol
 */
export type CallFailure = 'unreachable' | 'address' | 'refused' | 'garbage';

export class WebhookCallFailed extends Error {
  readonly failure: CallFailure;
  /** The HTTP status, where something answered. */
  readonly status: number | undefined;
  /** The webhook's code, where `failure` is `refused`. */
  readonly code: string | undefined;
  /** Whole seconds after which the webhook wants to be asked again, where it said so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    failure: CallFailure,
    message: string,
    facts: {
      readonly status?: number;
      readonly code?: string;
      readonly retryAfterSeconds?: number;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: facts.cause });
    this.name = 'WebhookCallFailed';
    this.failure = failure;
    this.status = facts.status;
    this.code = facts.code;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }
}

/** Seconds after which asking again makes sense; as long as the webhook counts as offline. */
const RETRY_AFTER_SECONDS = 15;

/** What a management caller is told when a call to the webhook failed. Other errors pass unchanged. */
export function asRefusal(error: unknown): unknown {
  return error instanceof WebhookCallFailed ? toRefusal(error) : error;
}

function toRefusal(failed: WebhookCallFailed): AppError<ErrorCode> {
  const { failure, code, message } = failed;
  switch (failure) {
    case 'unreachable':
      return refusal(
        'WEBHOOK_UNAVAILABLE',
        'The webhook cannot be reached. Check that it runs, then try again.',
        {
          cause: failed,
          reason: message,
          details: { retryAfter: RETRY_AFTER_SECONDS },
        },
      );
    case 'address':
      return refusal(
        'WEBHOOK_REFUSED',
        'The webhook has an address that this service must not call. The operator can allow it by SV_EGRESS_ALLOW.',
        { cause: failed, reason: message },
      );
    case 'refused':
      return refusal('WEBHOOK_REFUSED', `The webhook refused the call (${code}).`, {
        cause: failed,
        reason: message,
        details: { webhookCode: code },
      });
    case 'garbage':
      return refusal(
        'WEBHOOK_REFUSED',
        "What answers at the webhook's address does not speak its protocol. Check the address and what stands before it.",
        { cause: failed, reason: message },
      );
  }
}
