import type { AppError, WebhookErrorCode } from '@svault/shared';
import { refusal } from '../errors.ts';

/** The one answer to every request whose signature does not hold, whatever is wrong with it (protocol section 3). */
export function signatureInvalid(reason: string, cause?: unknown): AppError<WebhookErrorCode> {
  return refusal('SIGNATURE_INVALID', 'the request is not signed as the protocol asks', { reason, cause });
}
