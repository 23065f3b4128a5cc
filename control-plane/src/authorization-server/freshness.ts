/**
 * How long an answer may be kept, in seconds, as far as it says (RFC 9111 section 5.2.2): `no-store` and `no-cache` not at all,
 * `max-age` so long, less the time that it lay in a cache before (`Age`).
 *
 * @param headers by lower-case name
 * @param otherwise for an answer that does not say
 */
export function secondsFresh(headers: Readonly<Record<string, string>>, otherwise: number): number {
  const directives = (headers['cache-control'] ?? '').toLowerCase().split(/[\s,]+/);
  if (directives.some((one) => /^no-(store|cache)\b/.test(one))) return 0;
  const maxAge = directives.map((one) => /^max-age="?(\d{1,9})"?$/.exec(one)?.[1]).find(Boolean);
  if (maxAge === undefined) return otherwise;
  const age = /^\d{1,9}$/.test(headers['age'] ?? '') ? Number(headers['age']) : 0;
  return Math.max(0, Number(maxAge) - age);
}
