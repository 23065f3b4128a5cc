import { AppError, type WebhookErrorCode } from '@svault/shared';

/** An error with a code of PROTOCOL.md section 9, the only codes that this program answers. */
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

/** The one answer to every request whose signature is rejected, whatever the reason (PROTOCOL.md section 3). */
export function signatureInvalid(reason: string, cause?: unknown): AppError<WebhookErrorCode> {
  return refusal('SIGNATURE_INVALID', 'the request is not signed as the protocol asks', { reason, cause });
}
