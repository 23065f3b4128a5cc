import type { AppError } from '@svault/shared';
import { EgressFailed, EgressRefused } from '@svault/shared/egress';
import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { type ErrorCode, refusal } from '../../core/errors.ts';
import { providerUnavailable } from './provider-refusal.ts';

/** Codes of the library for answers that are none. */
const NO_ANSWER = [
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
];

/** What came back from the provider does not hold. */
function signInFailed(cause: unknown): AppError<ErrorCode> {
  return refusal('SIGN_IN_FAILED', "The identity provider's answer does not hold. Begin again.", {
    cause,
    reason: cause instanceof Error ? cause.message : 'no error',
  });
}

/**
 * The refusal that an error of the library stands for while a callback is looked at. What the provider says in
 * `error_description` stays out of it: anybody can write a callback's query.
 */
export function refusalOfCallback(error: unknown): AppError<ErrorCode> {
  if (error instanceof AuthorizationResponseError) {
    if (error.error === 'access_denied')
      return refusal(
        'SIGN_IN_DENIED',
        'You did not sign in at the identity provider, or it did not let you.',
      );
    const away = error.error === 'temporarily_unavailable' || error.error === 'server_error';
    return away ? providerUnavailable(error) : signInFailed(error);
  }
  if (error instanceof ResponseBodyError)
    return error.error === 'invalid_grant' ? signInFailed(error) : providerUnavailable(error);
  // It does not know our secret, or not the token that it has just given.
  if (error instanceof WWWAuthenticateChallengeError) return providerUnavailable(error);
  return gotNoAnswer(error) ? providerUnavailable(error) : signInFailed(error);
}

function gotNoAnswer(error: unknown): boolean {
  if (error instanceof EgressFailed || error instanceof EgressRefused) return true;
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  return (typeof code === 'string' && NO_ANSWER.includes(code)) || gotNoAnswer(error.cause);
}
