const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

/** The largest body of each endpoint, in bytes (protocol section 2). */
export const MAX_BODY_BYTES = {
  /** A token and its field's name need a fraction of it. */
  '/bind': 4 * KIBIBYTE,
  /** Read before anything is proven of its sender: the key it is signed with stands in it. */
  '/v1/exchange': KIBIBYTE,
  '/v1/health': MEBIBYTE,
  '/v1/proxy': 8 * MEBIBYTE,
  '/v1/refresh': MEBIBYTE,
  '/v1/refresh-notify': MEBIBYTE,
  '/v1/storage': MEBIBYTE,
  '/v1/store': MEBIBYTE,
} as const;
