import type { Invocation } from '../invocation.ts';
import { say } from '../output/say.ts';

/** What a terminal acts on instead of showing it, or nobody sees; line ends and tabs are harmless. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}]|[^\P{Cf}\u200c\u200d]/gu;

/**
 * Prints a secret to stdout: byte for byte, and nothing added, unless that is a terminal. There it ends with a line break, and
 * characters that would move the cursor or hide are shown as escapes, which is said on stderr.
 */
export function printValue(invocation: Invocation, value: string): void {
  const { terminal } = invocation;
  if (!terminal.interactive.out) return terminal.out(value);
  const text = value.replaceAll('\r\n', '\n');
  const shown = text.replaceAll(UNSEEN, escaped);
  terminal.out(shown.endsWith('\n') ? shown : `${shown}\n`);
  if (shown !== text)
    say(
      invocation,
      'it has characters that a terminal does not show: they stand as \\u{…} here; a pipe or a file gets them as they are',
    );
}

const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
