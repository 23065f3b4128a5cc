/** Characters that JSON does not escape and that a terminal acts on or hides: DEL, C1 controls, line ends, directions, tags. */
const TO_ESCAPE = /[\u007f-\u009f]|[\p{Zl}\p{Zp}]|[^\P{Cf}\u200c\u200d]/gu;

/** JSON of two spaces a level and a line end; to be read by programs as it is, and harmless on a terminal. */
export const jsonText = (value: unknown): string =>
  `${JSON.stringify(value, null, 2).replaceAll(TO_ESCAPE, escaped)}\n`;

/** The same in one line. */
export const jsonLine = (value: unknown): string =>
  `${JSON.stringify(value).replaceAll(TO_ESCAPE, escaped)}\n`;

/** One escape for each unit of UTF-16, as JSON has it. */
const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
