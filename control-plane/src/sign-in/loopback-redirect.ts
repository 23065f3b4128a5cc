/**
 * A loopback redirect (RFC 8252 section 7.3): an address literal, since a name may lead elsewhere (section 8.3); any port, and
 * it must be there; a plain path; nothing else.
 */
const FORM = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([1-9][0-9]{0,4})(?:\/[A-Za-z0-9._~/-]*)?$/;
const MAX_CHARACTERS = 200;
const MAX_PORT = 65_535;

/** Whether a command-line client may be answered there. */
export function isLoopbackRedirect(text: string): boolean {
  const port = text.length <= MAX_CHARACTERS ? FORM.exec(text)?.[1] : undefined;
  return port !== undefined && Number(port) <= MAX_PORT;
}
