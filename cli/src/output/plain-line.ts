/** C0 and C1 controls, DEL, and what ends a line: a terminal acts on these instead of showing them. */
const ACTED_ON = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;
/** Invisible format characters, which change how the rest reads. The two joiners stay: scripts and emoji need them. */
const UNSEEN = /[^\P{Cf}\u200c\u200d]/gu;

/**
 * Text of others as one line: no control character moves the cursor or changes a colour, none turns the reading direction
 * around or hides in the text, and no line is added.
 */
export const plainLine = (text: string): string => text.replaceAll(ACTED_ON, ' ').replaceAll(UNSEEN, '');

/** As `plainLine`, for text whose lines stay. */
export const plainLines = (text: string): string[] => text.split(/\r\n|\n/).map(plainLine);

/** As `plainLine`, for a reader that is a program: what another command is to take stays as it is, on its one line. */
export const exactLine = (text: string): string => text.replaceAll(ACTED_ON, ' ');

const SHOWN = 10;

/** The first of some texts as one line. */
export const listed = (items: readonly string[]): string =>
  [...items.slice(0, SHOWN), ...(items.length > SHOWN ? ['…'] : [])].map(plainLine).join(', ');
