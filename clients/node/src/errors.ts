/** Base of all errors of this package. No message holds a key, a ticket or a credential. */
export class SvaultError extends Error {
  override readonly name: string;

  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** What a denial said. */
export interface Denial {
  readonly message: string;
  readonly status: number;
  readonly code: string;
  readonly host: string;
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;
  readonly policy: string | undefined;
}

/** The control plane or the webhook denied the request. `svault explain CODE` documents each code. */
export class ApiError extends SvaultError {
  readonly status: number;
  readonly code: string;
  readonly host: string;
  /** To find the request in the log of the control plane or the webhook. */
  readonly requestId: string | undefined;
  /** Seconds after which the same request may be answered otherwise. */
  readonly retryAfter: number | undefined;
  /** The policy that denied it. */
  readonly policy: string | undefined;

  constructor({ message, status, code, host, requestId, retryAfter, policy }: Denial) {
    super(`${host}: ${message} (${code}${requestId === undefined ? '' : `, request ${requestId}`})`);
    this.status = status;
    this.code = code;
    this.host = host;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
    this.policy = policy;
  }
}

/** 429: a limit or a `rate_limit` rule, for longer than the client waits. */
export class RateLimited extends ApiError {}

/** No whole answer came in time. */
export class ConnectionFailed extends SvaultError {}

/** The answer is none of svault's, leads to an address that is not allowed, or is too large. */
export class UnexpectedAnswer extends SvaultError {}

/** Why a sealed credential was not opened. Closed. */
export type SealedReason =
  'no_key' | 'too_large' | 'malformed' | 'algorithm' | 'other_key' | 'not_decryptable' | 'not_a_credential';

/** A sealed credential could not be opened. */
export class SealedError extends SvaultError {
  readonly reason: SealedReason;

  constructor(reason: SealedReason, message = `the sealed credential was not opened: ${reason}`) {
    super(message);
    this.reason = reason;
  }
}
