/**
 * The one error that a caller is told about. It holds no HTTP status: each server has one exhaustive table from its
 * codes to status and body. Anything else that is thrown becomes a fixed 500.
 */
export class AppError<Code extends string = string> extends Error {
  override readonly name = 'AppError';
  /** From the closed union of the server that throws it. */
  readonly code: Code;
  /** Further members of the error body. Never a secret. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** What exactly went wrong, for the log only. Never a secret. */
  readonly reason: string | undefined;

  /** @param message for the caller; the same for all causes that the caller must not tell apart */
  constructor(
    code: Code,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown>; reason?: string } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.details = options.details;
    this.reason = options.reason;
  }
}

/** Every code that a webhook answers, with its HTTP status (protocol, "Error codes"). Closed. */
export const WEBHOOK_ERROR_STATUS = {
  INVALID_REQUEST: 400,
  SECRET_FIELD: 400,
  SIGNATURE_INVALID: 401,
  TICKET_INVALID: 401,
  DESTINATION_NOT_ALLOWED: 403,
  DELIVERY_NOT_ALLOWED: 403,
  ORIGIN_NOT_ALLOWED: 403,
  SETUP_REQUIRED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  VERSION_CONFLICT: 409,
  REFRESH_BUSY: 409,
  REFRESH_NEEDED: 409,
  LEASE_EXPIRED: 409,
  CODE_USED: 410,
  CODE_EXPIRED: 410,
  TOO_LARGE: 413,
  EMPTY_TOKEN: 422,
  MINT_FAILED: 422,
  NOT_INJECTABLE: 422,
  NOT_REFRESHABLE: 422,
  REAUTH_NEEDED: 422,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UPSTREAM_ERROR: 502,
  PROVIDER_ERROR: 502,
  UNAVAILABLE: 503,
  UPSTREAM_TIMEOUT: 504,
  PROVIDER_TIMEOUT: 504,
} as const satisfies Record<string, number>;

export type WebhookErrorCode = keyof typeof WEBHOOK_ERROR_STATUS;

/** Whether a text, say the `code` of an answer, is one of a webhook's codes. */
export function isWebhookErrorCode(text: unknown): text is WebhookErrorCode {
  return typeof text === 'string' && Object.hasOwn(WEBHOOK_ERROR_STATUS, text);
}
