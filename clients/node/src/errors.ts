/** Statuses that the same request may get past a little later. */
const TEMPORARY: readonly (number | undefined)[] = [409, 429, 500, 502, 503, 504];

/** Base of all errors of this package. No message holds a key, a ticket or a credential. */
export class SvaultError extends Error {
  override readonly name: string;
  /** Whether the same call may succeed later, with no change by the owner or in the program. */
  readonly isRetryable: boolean;

  constructor(message: string, isRetryable = false) {
    super(message);
    this.name = new.target.name;
    this.isRetryable = isRetryable;
  }
}

/** The program or its environment gave the client something that it cannot use: an address, a key, a name. */
export class UsageError extends SvaultError {}

/** What a denial said. */
export interface Denial {
  readonly message: string;
  /** 403 if omitted. */
  readonly status?: number;
  /** `POLICY_DENIED` if omitted. */
  readonly code?: string;
  readonly host?: string;
  readonly requestId?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly policy?: string | undefined;
  readonly rule?: string | undefined;
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
  /** The type of that policy's rule. */
  readonly rule: string | undefined;

  constructor(denial: Denial) {
    const { message, status = 403, code = 'POLICY_DENIED', host = 'svault' } = denial;
    const { requestId, retryAfter, policy, rule } = denial;
    const particulars = [
      code,
      ...(retryAfter === undefined ? [] : [`retry after ${retryAfter} s`]),
      ...(requestId === undefined ? [] : [`request ${requestId}`]),
    ];
    // An owner binds a webhook; time does not.
    const isRetryable = TEMPORARY.includes(status) && code !== 'WEBHOOK_NOT_CONFIGURED';
    super(`${host}: ${message} (${particulars.join(', ')})`, isRetryable);
    this.status = status;
    this.code = code;
    this.host = host;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
    this.policy = policy;
    this.rule = rule;
  }
}

/** 429: a limit or a `rate_limit` rule, for longer than the client waits. */
export class RateLimited extends ApiError {}

/** No whole answer came in time. Retryable unless the certificate does not verify. */
export class ConnectionFailed extends SvaultError {
  constructor(message: string, isRetryable = true) {
    super(message, isRetryable);
  }
}

/** Not an svault response, one that is too large, or one that leads to an address that is not allowed. */
export class UnexpectedAnswer extends SvaultError {
  /** Of the answer; undefined if the answer was svault's and its address was not allowed. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    // A reverse proxy answers so while the server behind it restarts.
    super(message, TEMPORARY.includes(status));
    this.status = status;
  }
}

const SEALED_REASONS = {
  no_key: 'the client has no sealingKey',
  not_sealed: 'the delivery is not sealed, and requireSealed is set',
  too_large: 'it is too large',
  malformed: 'it is malformed',
  algorithm: 'it is not encrypted by ECDH-ES and A256GCM',
  other_key: 'it is sealed for another key',
  not_decryptable: 'it was changed on the way',
  not_a_credential: 'its content is not a credential',
} as const;

/** Why a sealed credential was not opened. Closed. */
export type SealedReason = keyof typeof SEALED_REASONS;

/** A sealed credential could not be opened. */
export class SealedError extends SvaultError {
  readonly reason: SealedReason;

  constructor(reason: SealedReason) {
    super(`cannot open the credential: ${SEALED_REASONS[reason]} (${reason})`);
    this.reason = reason;
  }
}
