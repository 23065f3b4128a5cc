/** What a person decided, as the browser brings it. */
export type LoopbackAnswer =
  /** `issuer`: whose code it is, as the answer says (RFC 9207). */
  { readonly code: string; readonly issuer: string | undefined } | { readonly denied: true };

const CODE_FORM = /^[\x21-\x7e]{1,1024}$/;

/**
 * Reads the query of a redirect (RFC 6749 sections 4.1.2 and 4.1.2.1).
 * @returns undefined for whatever is no answer to this very request: anybody on this machine can ask here
 */
export function loopbackAnswer(query: URLSearchParams, state: string): LoopbackAnswer | undefined {
  const only = (name: string): string | undefined => {
    const values = query.getAll(name);
    return values.length === 1 ? values[0] : undefined;
  };
  if (only('state') !== state) return undefined;
  if (only('error') === 'access_denied' && !query.has('code')) return { denied: true };
  const code = only('code');
  return code !== undefined && CODE_FORM.test(code) && !query.has('error')
    ? { code, issuer: only('iss') }
    : undefined;
}
