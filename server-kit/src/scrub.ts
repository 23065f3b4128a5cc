/** Secrets that must not reach a log: keys, tickets, key material in a query. The prefix stays, to show the kind. */
const KEYS = /\b(svagent|svsessr?|mcp|svadmin|svclir?)_[A-Za-z0-9_-]{8,}/g;
const QUERY = /([?&;\s"']|^)(ticket|key|token|code|access_token|refresh_token|client_secret)=[^&\s"'#\\]+/gi;
const BEARER = /\b(Bearer|Basic)(\s+)[A-Za-z0-9._~+/=-]{8,}/gi;
const JWS = /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*){0,2}/g;

/** Masks keys, tickets, bearer values and compact JWS/JWE in a text. Pure; safe on text of any size. */
export function scrub(text: string): string {
  return text
    .replace(QUERY, '$1$2=[redacted]')
    .replace(BEARER, '$1$2[redacted]')
    .replace(KEYS, '$1_[redacted]')
    .replace(JWS, '[redacted]');
}
