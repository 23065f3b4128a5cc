/** Characters that a terminal obeys, that turn the direction of a line, or that XML cannot hold. */
const UNPRINTABLE =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff]/g;

/**
 * A text that can be shown anywhere: what answers hold may be meant for the reader's terminal. Line feeds and tabs
 * stay, everything else that is no character to look at is written as `\x1b` or `\u202e`.
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').toWellFormed().replace(UNPRINTABLE, escaped);
}

/** The same on one line. */
export function onOneLine(text: string): string {
  return printable(text)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\t', String.raw`\t`);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}
