import { AppError, type WebhookErrorCode } from '@svault/shared';

/** An error with a code of PROTOCOL.md section 9, the only codes that this program sends. */
export class ApiError extends AppError<WebhookErrorCode> {}

/** The one answer to every request whose signature is rejected, whatever the reason (PROTOCOL.md section 3). */
export function signatureInvalid(reason: string, cause?: unknown): ApiError {
  return new ApiError(
    'SIGNATURE_INVALID',
    'The request is not signed as PROTOCOL.md section 3 asks, or the clocks differ. The log of the webhook has the reason.',
    {
      reason,
      cause,
    },
  );
}
