/** Where a value stands in a JSON text, in bytes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const WHITE_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const END_OF_SCALAR: ReadonlySet<number> = new Set([...WHITE_SPACE, COMMA, CLOSE_OBJECT, CLOSE_ARRAY]);

/**
 * Where the value of a member is written, of an object in an object and so on.
 *
 * @param json UTF-8 of one JSON object, which a parser has taken
 * @param path names of members, from the outermost object
 * @returns undefined where there is none
 */
export function memberSpan(json: Uint8Array, path: readonly string[]): Span | undefined {
  let at = skipSpace(json, 0);
  let end = json.length;
  for (const name of path) {
    const span = json[at] === OPEN_OBJECT ? valueOf(json, at, name) : undefined;
    if (span === undefined) return undefined;
    ({ start: at, end } = span);
  }
  return { start: at, end };
}

/** @param start of an object */
function valueOf(json: Uint8Array, start: number, name: string): Span | undefined {
  let at = skipSpace(json, start + 1);
  while (json[at] === QUOTE) {
    const nameEnd = endOfText(json, at);
    const found = JSON.parse(textOf(json, at, nameEnd)) as string;
    at = skipSpace(json, nameEnd);
    if (json[at] === COLON) at = skipSpace(json, at + 1);
    const end = endOfValue(json, at);
    if (found === name) return { start: at, end };
    at = skipSpace(json, end);
    if (json[at] === COMMA) at = skipSpace(json, at + 1);
  }
  return undefined;
}

const textOf = (json: Uint8Array, start: number, end: number): string =>
  Buffer.from(json.buffer, json.byteOffset + start, end - start).toString();

function skipSpace(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && WHITE_SPACE.has(json[at] ?? 0)) at += 1;
  return at;
}

/** @returns the index behind the closing quote */
function endOfText(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** @returns the index behind the value that begins here */
function endOfValue(json: Uint8Array, start: number): number {
  let at = start;
  if (json[at] === QUOTE) return endOfText(json, at);
  if (json[at] !== OPEN_OBJECT && json[at] !== OPEN_ARRAY) {
    while (at < json.length && !END_OF_SCALAR.has(json[at] ?? 0)) at += 1;
    return at;
  }
  let depth = 0;
  do {
    const byte = json[at];
    if (byte === QUOTE) {
      at = endOfText(json, at);
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
    if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
    at += 1;
  } while (depth > 0 && at < json.length);
  return at;
}
