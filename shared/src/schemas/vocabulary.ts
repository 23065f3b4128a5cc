/** Specification, "Token types". */
export const TOKEN_TYPES = ['JWT', 'PlainText', 'Certificate', 'SSHKey', 'RawCredential', 'TOTP'] as const;
export type TokenType = (typeof TOKEN_TYPES)[number];

/**
 * PROTOCOL.md section 5.5: how a record may leave by `/v1/credential`; sealed with the secret. `any` is the default.
 */
export const DELIVERY = ['any', 'sealed', 'proxy-only'] as const;
export type Delivery = (typeof DELIVERY)[number];

/** PROTOCOL.md section 5.2. A reader ignores those that it does not know. */
export const CAPABILITIES = [
  'storage',
  'credential',
  'proxy',
  'store',
  'refresh-notify',
  'sv-refresh',
  'totp',
  'aws-sts',
  'gcp',
  'github-app',
  'sealed-delivery',
  'request-rules',
  'http-proxy',
  'aws-sigv4',
  'approvals',
  'audit-checkpoints',
] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** PROTOCOL.md section 5.4: how a client authenticates at its provider. `private_key_jwt` is for mediated ones only. */
export const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];

/** The outcomes of an audited event. */
export const OUTCOMES = ['success', 'denied', 'rate_limited', 'error'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** PROTOCOL.md section 5.5: the headers that may have the marker if a record names none. */
export const DEFAULT_ALLOWED_HEADERS: readonly string[] = ['authorization', 'x-api-key'];

/** PROTOCOL.md section 5.5: the most a secret field may hold, in bytes of UTF-8. */
export const MAX_SECRET_BYTES = 64 * 1024;

/** PROTOCOL.md section 5.3: sizes of lists and batches. */
export const STORAGE_LIMITS = {
  /** Operations in a batch. */
  batch: 100,
  /** `limit` where none is given. */
  defaultPage: 100,
  /** Largest `limit` of `tokens.list` and `proxies.list`. */
  listPage: 500,
  /** Largest `limit` of `audit.list`. */
  auditPage: 100,
  /** Events in one `audit.append`. */
  auditEvents: 500,
  /** Bytes of JSON in one event. */
  auditEventBytes: 8 * 1024,
  /** Events in one `audit.checkpoint`. */
  checkpointEvents: 500,
  /** Bytes of a signed checkpoint. */
  checkpointBytes: 4 * 1024,
} as const;
