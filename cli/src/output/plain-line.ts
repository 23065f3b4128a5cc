/**
 * Text of others as one line: no control character moves the cursor or changes a colour, none turns the reading direction
 * around, and no line is added.
 */
export const plainLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, '');
