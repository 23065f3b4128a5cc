import type { CallFailure } from '../schemas/index.ts';

/** Why a call was refused before a connection was made. Closed. */
export type EgressRefusalReason = 'malformed_url' | 'scheme' | 'userinfo' | 'address';

/** The rules of PROTOCOL.md section 6 forbid this call. No connection was made. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
  readonly reason: EgressRefusalReason;
  /** For the log: the host and what its address is for. It contains no path, query or userinfo. */
  readonly detail: string | undefined;

  constructor(reason: EgressRefusalReason, detail?: string) {
    super(`egress refused: ${reason}${detail === undefined ? '' : ` (${detail})`}`);
    this.reason = reason;
    this.detail = detail;
  }
}

/**
 * How a call failed that was allowed. Closed.
 *
 * - `dns`: the name has no address
 * - `connect`: no connection, or it broke before the answer was complete
 * - `tls`: no trusted connection, a wrong certificate for instance
 * - `timeout`: not done within `timeoutMs`
 * - `too_large`: the answer's body is larger than `maxBytes`
 * - `protocol`: the answer is no HTTP
 * - `aborted`: the caller's signal
 */
export type EgressFailureKind = 'dns' | 'connect' | 'tls' | 'timeout' | 'too_large' | 'protocol' | 'aborted';

/** An allowed call got no complete answer. Whether the other side acted on it is unknown. */
export class EgressFailed extends Error {
  override readonly name = 'EgressFailed';
  readonly kind: EgressFailureKind;

  constructor(kind: EgressFailureKind, options?: { cause?: unknown }) {
    super(`egress failed: ${kind}`, options);
    this.kind = kind;
  }
}

const DNS_CODES = /^(ENOTFOUND|ENODATA|EAI_.*|ESERVFAIL|EREFUSED)$/;
const TLS_CODES =
  /^(ERR_TLS_.*|ERR_SSL_.*|EPROTO|CERT_.*|CRL_.*|DEPTH_ZERO_.*|SELF_SIGNED_.*|UNABLE_TO_.*|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED|ERR_OSSL_.*)$/;
const PROTOCOL_CODES = /^(UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|UND_ERR_RESPONSE)$/;
const TIMEOUT_CODES = /^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/;

/** The failure for an error of the HTTP client. */
export function failureOf(error: unknown): EgressFailed {
  if (error instanceof EgressFailed) return error;
  const code = codeOf(error);
  return new EgressFailed(kindOf(error, code), { cause: error });
}

function kindOf(error: unknown, code: string): EgressFailureKind {
  if (error instanceof Error && error.name === 'TimeoutError') return 'timeout';
  if (error instanceof Error && error.name === 'AbortError') return 'aborted';
  if (DNS_CODES.test(code)) return 'dns';
  if (TLS_CODES.test(code)) return 'tls';
  if (TIMEOUT_CODES.test(code)) return 'timeout';
  if (PROTOCOL_CODES.test(code) || (error instanceof Error && error.name === 'HTTPParserError'))
    return 'protocol';
  return 'connect';
}

const UNREACHABLE_CODES = /^(EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|EACCES|EPERM)$/;
const CERTIFICATE_CODES = /^(?!ERR_SSL_|ERR_OSSL_|EPROTO|ERR_TLS_(?!CERT_))/;

/** Without what the egress rules decide before a call is made, and without redirects, which the egress client never follows. */
type Unanswered = Exclude<CallFailure, 'address' | 'plain_http' | 'redirect'>;

/** A word for why a streamed call got no head of an answer, without anything of its error, which may quote what was sent. */
export function callFailureOf({ kind, cause }: EgressFailed): Unanswered {
  const code = codeOf(cause);
  switch (kind) {
    case 'dns':
    case 'timeout':
      return kind;
    case 'tls':
      return CERTIFICATE_CODES.test(code) ? 'certificate' : 'tls';
    case 'connect':
      if (code === 'ECONNREFUSED') return 'refused';
      return UNREACHABLE_CODES.test(code) ? 'unreachable' : 'cut';
    case 'aborted':
      return cause === undefined ? 'cut' : 'no_http';
    case 'protocol':
    case 'too_large':
      return 'no_http';
  }
}

/**
 * What a call of an upstream that failed, or was not made, is answered with, and the word for its cause.
 *
 * @returns undefined for an error that is not of the egress client
 */
export function failedCallOf(error: unknown) {
  if (error instanceof EgressRefused)
    return {
      code: 'DESTINATION_NOT_ALLOWED',
      cause: error.reason === 'scheme' ? 'plain_http' : 'address',
    } as const;
  if (!(error instanceof EgressFailed)) return undefined;
  const cause = callFailureOf(error);
  return { code: cause === 'timeout' ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_ERROR', cause } as const;
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}
