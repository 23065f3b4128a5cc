const MAX_PORT = 65_535;
const MAX_CHARACTERS = 200;

/** An address literal, since a name may lead elsewhere (RFC 8252 section 8.3), with a port and a plain path. */
const CLI_FORM = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([1-9][0-9]{0,4})(?:\/[A-Za-z0-9._~/-]*)?$/;

/** Whether a command-line client may get its answer at this address (RFC 8252 section 7.3, narrowed). */
export function isLoopbackRedirect(text: string): boolean {
  const port = text.length <= MAX_CHARACTERS ? CLI_FORM.exec(text)?.[1] : undefined;
  return port !== undefined && Number(port) <= MAX_PORT;
}

/** `http`, this computer by a name or literal in its canonical form, a port or none, and any path and query. */
const OAUTH_FORM = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([1-9][0-9]{0,4}))?((?:[/?].*)?)$/;

/** Whether an address is `http` on this computer, where an OAuth client listens (RFC 8252 section 7.3). */
export function isLoopbackUri(uri: string): boolean {
  const match = OAUTH_FORM.exec(uri);
  return match !== null && Number(match[2] ?? 80) <= MAX_PORT;
}

/** A loopback address without its port. @param uri one that {@link isLoopbackUri} accepts */
export const withoutPort = (uri: string): string => uri.replace(OAUTH_FORM, '$1$3');
