import { AppError } from '@svault/shared';

/**
 * Every code this server refuses with. Closed: a code that is not here cannot be thrown, and `api/http/errors.ts` has a
 * status for each. Sources: the specification's "REST credential endpoint" errors; the contract's "Management
 * routes". `SIGN_IN_…`, `NO_ACCOUNT` and `PROVIDER_UNAVAILABLE` are of the sign-in at an identity provider;
 * `SESSION_NOT_FOUND` and `UPSTREAM_…` of the MCP proxy.
 */
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

/** One thing wrong with the caller's input. `path` is dotted (`tags.0`), empty for the input as a whole. */
export interface ArgumentIssue {
  readonly path: string;
  readonly message: string;
}

/** A refusal of this server's closed union; `message` is what the caller reads, `reason` what the log says. */
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

/** The one answer for an id or name that is unknown, malformed, or another account's: the same bytes for all. */
export function notFound(): AppError<ErrorCode> {
  return refusal('NOT_FOUND', 'There is nothing here by that name.');
}

/** @returns `found` @throws AppError NOT_FOUND where it is undefined */
export function orNotFound<T>(found: T | undefined): T {
  if (found === undefined) throw notFound();
  return found;
}
