import { statusByCode } from './error-catalog/error-description.ts';
import { WEBHOOK_ERRORS } from './error-catalog/webhook-errors.ts';

/** The one error that callers see. Each server maps its codes to a status; anything else thrown is a fixed 500. */
export class AppError<Code extends string = string> extends Error {
  override readonly name = 'AppError';
  /** From the closed union of the server that throws it. */
  readonly code: Code;
  /** Further members of the error body. Never a secret. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** What exactly went wrong, for the log only. Never a secret. */
  readonly reason: string | undefined;

  /** @param message for the caller; the same for all causes that the caller must not tell apart */
  constructor(
    code: Code,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown>; reason?: string } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.details = options.details;
    this.reason = options.reason;
  }
}

export type WebhookErrorCode = keyof typeof WEBHOOK_ERRORS;

/** Every code that a webhook sends, with its HTTP status (PROTOCOL.md, ERR-01). Closed. */
export const WEBHOOK_ERROR_STATUS: Readonly<Record<WebhookErrorCode, number>> = statusByCode(WEBHOOK_ERRORS);

/** Whether a text, say the `code` of an answer, is one of a webhook's codes. */
export function isWebhookErrorCode(text: unknown): text is WebhookErrorCode {
  return typeof text === 'string' && Object.hasOwn(WEBHOOK_ERROR_STATUS, text);
}
