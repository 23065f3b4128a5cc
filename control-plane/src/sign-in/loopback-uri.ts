/** `http`, this computer by a name or literal in its one notation, a port or none, and whatever follows. */
const FORM = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([1-9][0-9]{0,4}))?((?:[/?].*)?)$/;
const MAX_PORT = 65_535;

/** Whether an address is `http` on this computer, so that a program there listens for it (RFC 8252 section 7.3). */
export function isLoopbackUri(uri: string): boolean {
  const match = FORM.exec(uri);
  return match !== null && Number(match[2] ?? 80) <= MAX_PORT;
}

/** A loopback address but for its port. @param uri one that {@link isLoopbackUri} let through */
export const withoutPort = (uri: string): string => uri.replace(FORM, '$1$3');
