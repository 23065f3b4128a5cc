import { byteLength } from './byte-length.ts';

/** PROTOCOL.md section 5: a service name is 1 to 128 characters and at most 255 bytes of UTF-8. */
const MAX_CHARACTERS = 128;
const MAX_BYTES = 255;

/** Names that need no look at Unicode, by far the most: visible ASCII without `/`. */
const PLAIN = /^[!-.0-~]{1,128}$/;
const CONTROL = /\p{Cc}/u;
const OUTER_WHITE_SPACE = /^\p{White_Space}|\p{White_Space}$/u;

/**
 * PROTOCOL.md section 5: NFC, 1 to 128 characters (code points), at most 255 bytes, no `/`, no control characters, no
 * white space at either end, not `.` or `..`. Names are compared byte for byte, so nothing is normalised here: a
 * name that is not in NFC is refused.
 */
export function isServiceName(text: string): boolean {
  if (text === '.' || text === '..') return false;
  if (PLAIN.test(text)) return true;
  if (text.length === 0 || text.length > MAX_BYTES || !text.isWellFormed()) return false;
  if (text.includes('/') || CONTROL.test(text) || OUTER_WHITE_SPACE.test(text)) return false;
  if (byteLength(text) > MAX_BYTES || text.normalize('NFC') !== text) return false;
  return [...text].length <= MAX_CHARACTERS;
}
