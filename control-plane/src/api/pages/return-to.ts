/** Of the path as it is kept, where `{` is `%7B`: sealed, it has to fit into a cookie (RFC 6265 section 6.1: 4 KiB). */
const MAX_CHARACTERS = 2_000;
/** Any: only what does not depend on it is kept. */
const BASE = 'http://own.invalid';

/**
 * A path of this service that a browser may be sent back to, with its query; undefined for anything that could lead
 * elsewhere: other origins, `//host`, a backslash, control characters, which browsers drop or take for a slash.
 * @param text as a query or a form brought it
 */
export function localPath(text: unknown): string | undefined {
  if (typeof text !== 'string' || !/^\/(?![/\\])[\x21-\x5B\x5D-\x7E]*$/.test(text)) return undefined;
  if (!URL.canParse(text, BASE)) return undefined;
  const { origin, pathname, search } = new URL(text, BASE);
  // `/.//host` is on our origin until its dots are taken out.
  if (origin !== BASE || pathname.startsWith('//')) return undefined;
  const path = pathname + search;
  return path.length <= MAX_CHARACTERS ? path : undefined;
}
