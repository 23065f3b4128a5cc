import { AppError, type WebhookErrorCode } from '@svault/shared';

/** An error with a code of protocol section 9, the only ones this program answers. */
export function refusal(
  code: WebhookErrorCode,
  message: string,
  options: {
    readonly cause?: unknown;
    readonly details?: Record<string, unknown>;
    readonly reason?: string;
  } = {},
): AppError<WebhookErrorCode> {
  return new AppError(code, message, options);
}
