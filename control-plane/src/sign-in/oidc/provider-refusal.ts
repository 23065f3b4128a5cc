import type { AppError } from '@svault/shared';
import { type ErrorCode, refusal } from '../../core/errors.ts';

const RETRY_AFTER_SECONDS = 5;

/** The provider cannot be asked, or refuses us rather than the person. */
export function providerUnavailable(cause: unknown): AppError<ErrorCode> {
  return refusal(
    'PROVIDER_UNAVAILABLE',
    'The identity provider does not answer as it should; try again later. Until then the owner gets in by `owner-link`.',
    {
      cause,
      details: { retryAfter: RETRY_AFTER_SECONDS },
    },
  );
}

/** It is the operator's to mend, so the message says how. @param problem of `issuerProblem` */
export const wrongIssuer = (problem: string): AppError<ErrorCode> =>
  refusal('PROVIDER_UNAVAILABLE', `Nobody can sign in: ${problem}.`, {
    reason: problem,
    details: { retryAfter: RETRY_AFTER_SECONDS },
  });

/** This browser began no sign-in, or began it too long ago, or has brought it to an end already. */
export function signInExpired(reason: string): AppError<ErrorCode> {
  return refusal(
    'SIGN_IN_EXPIRED',
    'This sign-in was not begun in this browser, or too long ago. Begin again.',
    {
      reason,
    },
  );
}
