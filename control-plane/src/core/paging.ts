import { fromBase64url, toBase64url, utf8 } from '@svault/shared';

/** `after` is the sort key of the last item of the previous page. */
export interface PageRequest {
  readonly limit: number;
  readonly after: readonly string[] | undefined;
}

/** A page of a list whose items have names. */
export interface NamedPageRequest extends PageRequest {
  /** Only items whose name contains this text, as `nameKey` compares names. */
  readonly name?: string | undefined;
}

export interface Page<T> {
  readonly items: T[];
  /** Opaque; absent when nothing is left. */
  readonly nextCursor?: string;
}

/**
 * Cuts a page from rows that were read with `limit + 1`; the extra row means that there is a next page.
 *
 * @param keyOf the sort key of an item, whose order is the list's order
 */
export function pageOf<T>(rows: readonly T[], limit: number, keyOf: (item: T) => readonly string[]): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  if (rows.length <= limit || last === undefined) return { items };
  return { items, nextCursor: cursorOf(keyOf(last)) };
}

/** The cursor of the page that follows a sort key. */
export const cursorOf = (key: readonly string[]): string => toBase64url(utf8(JSON.stringify(key)));

/** @returns the sort key in a cursor; undefined where it is malformed or has another number of parts */
export function readCursor(cursor: string, parts: number): readonly string[] | undefined {
  const bytes = fromBase64url(cursor);
  if (bytes === undefined) return undefined;
  try {
    const key: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (!Array.isArray(key) || key.length !== parts) return undefined;
    // PostgreSQL's text cannot contain NUL.
    return key.every((part) => typeof part === 'string' && !part.includes('\0')) ? key : undefined;
  } catch {
    return undefined;
  }
}

/**
 * All pages of a list: an item that exists from the first page to the last is on exactly one.
 *
 * @param parts how many parts the list's sort key has
 */
export async function* pagesOf<T>(
  list: (page: PageRequest) => Promise<Page<T>>,
  { limit, parts }: { readonly limit: number; readonly parts: number },
): AsyncGenerator<readonly T[]> {
  let after: readonly string[] | undefined;
  do {
    const { items, nextCursor } = await list({ limit, after });
    yield items;
    after = nextCursor === undefined ? undefined : readCursor(nextCursor, parts);
  } while (after !== undefined);
}
