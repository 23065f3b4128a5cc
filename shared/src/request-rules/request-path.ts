import { AmbiguousRequest } from './request-denial.ts';

const MAX_CHARACTERS = 4096;
/** RFC 3986 section 3.3, without `;`: servers take what follows it for parameters. */
const PATH = /^(?:\/(?:[A-Za-z0-9\-._~!$&'()*+,=:@]|%[0-9A-Fa-f]{2})*)+$/;
const TRIPLET = /%[0-9A-Fa-f]{2}/g;
/** `/`, `\`, `;` and the controls. */
const ENCODED_DELIMITER = /%(?:2f|5c|3b|[01][0-9a-f]|7f)/i;
const ENCODED_TWICE = /%25[0-9a-f]{2}/i;
const UNRESERVED = /^[A-Za-z0-9\-._~]$/;
/** Some file systems ignore spaces at the end of a name. */
const DOTS = /^\.(?:\.|%20)*$/;
const NON_ASCII = /[^\0-\x7f]+/g;
const DELIMITERS = /[\0-\x20./\\;%?#\x7f-\x9f]/;

/**
 * The segments of a path in their one spelling: percent-encoded unreserved characters decoded, once, and the other
 * triplets in capitals (RFC 3986 section 6.2.2). The last is empty where the path ends with a slash.
 * @throws AmbiguousRequest where another program could read another path
 */
export function readPath(path: string): readonly string[] {
  if (path.length > MAX_CHARACTERS) throw new AmbiguousRequest('path_length');
  if (!PATH.test(path)) throw new AmbiguousRequest('path_characters');
  if (path.includes('//')) throw new AmbiguousRequest('path_empty_segment');
  const segments = (path.includes('%') ? decodeUnreserved(path) : path).slice(1).split('/');
  if (segments.some((segment) => DOTS.test(segment))) throw new AmbiguousRequest('path_dot_segment');
  return segments;
}

function decodeUnreserved(path: string): string {
  if (ENCODED_DELIMITER.test(path)) throw new AmbiguousRequest('path_encoding');
  for (const [text] of decode(path).matchAll(NON_ASCII)) {
    // `．` and its like: some programs replace them by what they look like.
    if (DELIMITERS.test(text) || DELIMITERS.test(text.normalize('NFKC')))
      throw new AmbiguousRequest('path_lookalike');
  }
  const decoded = path.replaceAll(TRIPLET, (triplet) => {
    const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16));
    return UNRESERVED.test(character) ? character : triplet.toUpperCase();
  });
  // Only now, since `%25%32%46` is `%252F` as well.
  if (ENCODED_TWICE.test(decoded)) throw new AmbiguousRequest('path_encoded_twice');
  return decoded;
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new AmbiguousRequest('path_utf8');
  }
}

/** One segment, whatever it is. */
const ANY_SEGMENT = '*';
/** The rest of the path. */
const REST = '**';

/**
 * Whether a text may stand in `paths`: a path as {@link readPath} takes it, in which a segment may be `*`, and the last
 * one `**`.
 */
export function isPathPattern(text: string): boolean {
  try {
    const segments = readPath(text);
    return segments.every(
      (segment, at) =>
        !segment.includes('*') || segment === ANY_SEGMENT || (segment === REST && at === segments.length - 1),
    );
  } catch {
    return false;
  }
}

/** A pattern of `paths`, taken apart. */
export interface PathPattern {
  /** As its owner wrote it. */
  readonly text: string;
  readonly segments: readonly string[];
  /** Whether `**` follows these. */
  readonly isOpen: boolean;
}

/** @param text for which {@link isPathPattern} holds */
export function pathPattern(text: string): PathPattern {
  const segments = readPath(text);
  const isOpen = segments.at(-1) === REST;
  return { text, segments: isOpen ? segments.slice(0, -1) : segments, isOpen };
}

/** @param segments of a request's path. `*` is one that is not empty; `**` is all that follows its slash, be it nothing */
export function matchesPath(
  { segments: pattern, isOpen }: PathPattern,
  segments: readonly string[],
): boolean {
  if (isOpen ? segments.length <= pattern.length : segments.length !== pattern.length) return false;
  for (let at = 0; at < pattern.length; at++) {
    if (pattern[at] === ANY_SEGMENT ? segments[at] === '' : pattern[at] !== segments[at]) return false;
  }
  return true;
}
