import { fromBase64url, toBase64url, utf8 } from '@svault/shared';
import { refusal } from '../errors.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

/** A place in a list, as an opaque text: lists are ordered by a key, and a page begins after the last one seen. */
export const toCursor = (last: string): string => toBase64url(utf8(last));

/**
 * @returns the key after which the page begins, `''` for the first page
 * @throws AppError INVALID_REQUEST for a text that {@link toCursor} has not made
 */
export function fromCursor(cursor: string | undefined): string {
  if (cursor === undefined) return '';
  const bytes = fromBase64url(cursor);
  if (bytes === undefined || bytes.length === 0)
    throw refusal('INVALID_REQUEST', 'the cursor is not one of ours');
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw refusal('INVALID_REQUEST', 'the cursor is not one of ours', { cause: error });
  }
}
