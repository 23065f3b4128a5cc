import { EgressFailed, EgressRefused } from '@svault/shared/egress';
import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { ApiError } from '../../core/errors.ts';

const RETRY_AFTER_SECONDS = 5;

/** Codes of the library for responses that it cannot read. */
const UNREADABLE = [
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
];

/** The provider cannot be reached, or rejects this service rather than the user. */
export function providerUnavailable(cause: unknown): ApiError {
  return new ApiError(
    'PROVIDER_UNAVAILABLE',
    'The identity provider does not answer as it should; try again later. Until then the owner gets in by `owner-link`.',
    { cause, details: { retryAfter: RETRY_AFTER_SECONDS } },
  );
}

/** The operator has to correct it, so the message says how. @param problem from `issuerProblem` */
export const wrongIssuer = (problem: string): ApiError =>
  new ApiError('PROVIDER_UNAVAILABLE', `Nobody can sign in: ${problem}.`, {
    reason: problem,
    details: { retryAfter: RETRY_AFTER_SECONDS },
  });

function signInFailed(cause: unknown): ApiError {
  return new ApiError('SIGN_IN_FAILED', "The identity provider's answer does not hold. Begin again.", {
    cause,
    reason: cause instanceof Error ? cause.message : 'no error',
  });
}

/**
 * Translates an error of the library while it checks a callback. `error_description` is left out: anybody can write a
 * callback's query.
 */
export function callbackError(error: unknown): ApiError {
  if (error instanceof AuthorizationResponseError) {
    if (error.error === 'access_denied')
      return new ApiError(
        'SIGN_IN_DENIED',
        'You did not sign in at the identity provider, or it did not let you.',
      );
    const isDown = error.error === 'temporarily_unavailable' || error.error === 'server_error';
    return isDown ? providerUnavailable(error) : signInFailed(error);
  }
  if (error instanceof ResponseBodyError)
    return error.error === 'invalid_grant' ? signInFailed(error) : providerUnavailable(error);
  // It does not know our secret, or the token that it has just issued.
  if (error instanceof WWWAuthenticateChallengeError) return providerUnavailable(error);
  return isWithoutResponse(error) ? providerUnavailable(error) : signInFailed(error);
}

function isWithoutResponse(error: unknown): boolean {
  if (error instanceof EgressFailed || error instanceof EgressRefused) return true;
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  return (typeof code === 'string' && UNREADABLE.includes(code)) || isWithoutResponse(error.cause);
}
