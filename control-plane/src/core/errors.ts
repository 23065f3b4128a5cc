import { AppError } from '@svault/shared';
import type { ControlPlaneErrorCode } from '@svault/shared/error-catalog';

/** A code that this server denies or rejects a request with; the catalogue describes each. */
export type ErrorCode = ControlPlaneErrorCode;

/** `path` is dotted (`tags.0`), empty for the input as a whole. */
export interface ArgumentIssue {
  readonly path: string;
  readonly message: string;
}

/** @param message for the caller. @param options.reason for the log */
export function refusal(
  code: ErrorCode,
  message: string,
  options?: {
    readonly cause?: unknown;
    readonly details?: Record<string, unknown>;
    readonly reason?: string;
  },
): AppError<ErrorCode> {
  return new AppError<ErrorCode>(code, message, options);
}

/** 422 with every issue at once. */
export function invalidArgument(issues: readonly ArgumentIssue[]): AppError<ErrorCode> {
  return refusal('INVALID_ARGUMENT', 'The request has members that do not fit.', { details: { issues } });
}

/** The same bytes for an id or name that is unknown, malformed, or another account's. */
export function notFound(): AppError<ErrorCode> {
  return refusal('NOT_FOUND', 'There is nothing here by that name.');
}

/** @returns `found` @throws AppError NOT_FOUND where it is undefined */
export function orNotFound<T>(found: T | undefined): T {
  if (found === undefined) throw notFound();
  return found;
}
