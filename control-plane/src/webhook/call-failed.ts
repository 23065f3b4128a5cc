import type { AppError } from '@svault/shared';
import { type ErrorCode, refusal } from '../core/errors.ts';
import { RETRY_AFTER_SECONDS } from './outages.ts';

/**
 * Why a signed call brought nothing.
 *
 * - `unreachable`: connection error, timeout, or 502/503/504 without a JSON `code`; the webhook counts as offline
 * - `address`: our own address rules refuse it; no connection was made
 * - `refused`: the webhook answered with a code of protocol section 9
 * - `garbage`: something answered that does not speak the protocol, or says more than an answer may hold
 * - `held_back`: no call was made, since the account's webhook takes too much already (`call-budget.ts`)
 */
export type CallFailure = 'unreachable' | 'address' | 'refused' | 'garbage' | 'held_back';

export class WebhookCallFailed extends Error {
  readonly failure: CallFailure;
  /** The HTTP status, where something answered. */
  readonly status: number | undefined;
  /** The webhook's code, where `failure` is `refused`. */
  readonly code: string | undefined;
  /** Whole seconds after which the webhook wants to be asked again, where it said so. */
  readonly retryAfterSeconds: number | undefined;
  /** `unreachable` since no answer came in time, which alone is no outage. */
  readonly isLate: boolean;
  /** `garbage` by its size alone. */
  readonly isTooLarge: boolean;
  /** Of the answer, as far as it was read. */
  readonly bytes: number;

  constructor(
    failure: CallFailure,
    message: string,
    facts: {
      readonly status?: number;
      readonly code?: string;
      readonly retryAfterSeconds?: number;
      readonly isLate?: boolean;
      readonly isTooLarge?: boolean;
      readonly bytes?: number;
      readonly cause?: unknown;
    } = {},
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

/** Whether an answer was refused by its size alone: one to a smaller question may fit. */
export const isTooLarge = (error: unknown): boolean => error instanceof WebhookCallFailed && error.isTooLarge;

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
    case 'held_back':
      return refusal('WEBHOOK_UNAVAILABLE', `The webhook was not called: ${message}. Try again later.`, {
        cause: failed,
        reason: message,
        details: { retryAfter: failed.retryAfterSeconds ?? RETRY_AFTER_SECONDS },
      });
    case 'garbage':
      if (failed.isTooLarge)
        return refusal('WEBHOOK_REFUSED', `The webhook says too much: ${message}. Mend or update it.`, {
          cause: failed,
          reason: message,
        });
      return refusal(
        'WEBHOOK_REFUSED',
        "What answers at the webhook's address does not speak its protocol. Check the address and what stands before it.",
        { cause: failed, reason: message },
      );
  }
}
