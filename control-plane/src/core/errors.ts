import { AppError } from '@svault/shared';
import type { ControlPlaneErrorCode } from '@svault/shared/error-catalog';

/** A code that this server denies or rejects a request with; the catalogue describes each. */
export type ErrorCode = ControlPlaneErrorCode;

/** `path` is dotted (`tags.0`), empty for the input as a whole. */
export interface ArgumentIssue {
  readonly path: string;
  readonly message: string;
}

/** `message` and `details` are for the caller, `reason` is for the log. */
export class ApiError extends AppError<ErrorCode> {}

/** 422 with every issue at once. */
export function invalidArgument(issues: readonly ArgumentIssue[]): ApiError {
  return new ApiError('INVALID_ARGUMENT', 'The request has members that do not fit.', {
    details: { issues },
  });
}

/** The same bytes for an id or name that is unknown, and for one of another account. */
export function notFound(): ApiError {
  return new ApiError('NOT_FOUND', 'There is nothing here by that name.');
}

/** For the routes of a webhook: people confuse the addresses of the two programs. */
export const notAWebhook = (): ApiError =>
  new ApiError(
    'NOT_FOUND',
    'This is a control plane, not a webhook. Send the request to the address of the webhook.',
  );

/** @returns `found` @throws ApiError NOT_FOUND where it is undefined */
export function orNotFound<T>(found: T | undefined): T {
  if (found === undefined) throw notFound();
  return found;
}
