/**
 * The value of one cookie. A name that occurs twice counts as absent: a sibling domain may have planted one of
 * them, and we could not tell which.
 *
 * @param header the `Cookie` header as received
 */
export function readCookie(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

/** The session cookie: its name, and its `Set-Cookie` lines. */
export interface SessionCookie {
  readonly name: string;
  set(value: string, maxAgeSeconds: number): string;
  clear(): string;
}

/**
 * The session cookie of a service at this address.
 *
 * Over https the `__Host-` prefix makes browsers insist on Secure, on Path=/ and on no Domain. Over http, which is
 * loopback only, browsers would drop such a cookie, so it goes without prefix and Secure. SameSite is Lax, since
 * the binding page is reached by a redirect from the webhook's site.
 */
export function sessionCookie(baseUrl: string): SessionCookie {
  const https = baseUrl.startsWith('https:');
  const name = https ? '__Host-svault' : 'svault';
  const attributes = `Path=/; HttpOnly; SameSite=Lax${https ? '; Secure' : ''}`;
  return {
    name,
    set: (value, maxAgeSeconds) => `${name}=${value}; ${attributes}; Max-Age=${maxAgeSeconds}`,
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
  };
}
