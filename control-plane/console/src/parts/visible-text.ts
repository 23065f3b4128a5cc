/**
 * What a reader does not see, or what moves what they see: controls, marks of direction, spaces other than the plain one,
 * invisible and unassigned characters, fillers, halves of characters, selectors of variants.
 */
const UNSEEN = /(?![ \n])(?:\p{C}|\p{Z}|\p{Default_Ignorable_Code_Point})/gu;
/** Marks in a pile cover the lines around them. */
const PILED_MARKS = /(?<=\p{M}{2})\p{M}/gu;

const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** A text of somebody else's in which every character is seen, as on the pages of the webhook; line ends stay. */
export const visibleText = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(UNSEEN, escaped).replaceAll(PILED_MARKS, escaped);

/** The same on one line. */
export const visibleLine = (text: string): string => visibleText(text).replaceAll('\n', '\\n');
