/** Protocol section 2: a webhook's calls to providers end within 8 s. */
export const PROVIDER_CALL_MS = 8_000;
/** The largest answer of a provider that is read. */
export const PROVIDER_ANSWER_BYTES = 64 * 1024;
/** What may be delivered as a token, since it is to stand in headers: visible ASCII (RFC 6749 appendix A.12 has spaces too). */
export const TOKEN_TEXT = /^[\x21-\x7e]{1,65536}$/;
