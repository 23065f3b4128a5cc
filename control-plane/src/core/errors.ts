import { AppError } from '@svault/shared';

/** Every error code of the control plane; `api/http/errors.ts` has the status of each. */
export type ErrorCode =
  | 'AGENT_INACTIVE'
  | 'AUDIT_UNAVAILABLE'
  | 'CONFLICT'
  | 'FORBIDDEN'
  | 'GRANT_EXPIRED'
  | 'INTERNAL'
  | 'INVALID_ARGUMENT'
  | 'INVALID_KEY'
  | 'INVALID_REQUEST'
  | 'INVALID_SERVICE'
  | 'MCP_DISABLED'
  | 'METHOD_NOT_ALLOWED'
  | 'MISSING_KEY'
  | 'NO_GRANT'
  | 'NOT_FOUND'
  | 'NO_ACCOUNT'
  | 'POLICY_DENIED'
  | 'PROVIDER_UNAVAILABLE'
  | 'QUOTA_EXCEEDED'
  | 'RATE_LIMITED'
  | 'SESSION_NOT_FOUND'
  | 'SIGN_IN_DENIED'
  | 'SIGN_IN_EXPIRED'
  | 'SIGN_IN_FAILED'
  | 'TOO_LARGE'
  | 'UNAUTHENTICATED'
  | 'UNAVAILABLE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'UPSTREAM_REDIRECT'
  | 'UPSTREAM_UNAUTHORIZED'
  | 'UPSTREAM_UNSUPPORTED'
  | 'VAULT_LOCKED'
  | 'WEBHOOK_NOT_CONFIGURED'
  | 'WEBHOOK_REFUSED'
  | 'WEBHOOK_UNAVAILABLE';

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
