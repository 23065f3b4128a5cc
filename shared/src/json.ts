/** Why a text is not the JSON that protocol section 2 asks for. Closed. */
export type JsonRefusalReason =
  | 'bom'
  | 'utf8'
  | 'syntax'
  | 'depth'
  | 'values'
  | 'duplicate_name'
  | 'forbidden_name'
  | 'number'
  | 'lone_surrogate'
  | 'not_an_object';

/** A text is not the JSON that protocol section 2 asks for. Holds nothing of the text. */
export class JsonRefused extends Error {
  override readonly name = 'JsonRefused';
  readonly reason: JsonRefusalReason;

  constructor(reason: JsonRefusalReason) {
    super(`JSON refused: ${reason}`);
    this.reason = reason;
  }
}

/** Protocol section 2. An outermost object or array has depth 1. */
const MAX_DEPTH = 32;

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const FULL_STOP = 0x2e;
const UPPER_E = 0x45;
const LOWER_E = 0x65;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Protocol section 2: UTF-8 without a byte order mark, one object, at most 32 deep, no name twice in an object;
 * integers without fraction or exponent and below 2^53. Also refused: text that UTF-8 cannot carry (lone
 * surrogates), and the name `__proto__`, which no message has and which some code takes for a prototype.
 * @throws JsonRefused
 */
export function parseJsonObject(bytes: Uint8Array, options?: JsonNotation): Record<string, unknown> {
  const value = parseJsonValue(bytes, options);
  if (!isObject(value)) throw new JsonRefused('not_an_object');
  return value;
}

/**
 * As {@link parseJsonObject}, with members that are null left out, at any depth: readers of the webhook protocol take
 * null as absent (protocol section 2). What the wire schemas read.
 * @throws JsonRefused
 */
export function parseWireObject(bytes: Uint8Array, options?: JsonNotation): Record<string, unknown> {
  return withoutNulls(parseJsonObject(bytes, options)) as Record<string, unknown>;
}

/** How numbers may be written: `any` is RFC 8259's, short of what a double cannot hold at all (`1e400`). */
type JsonNumbers = 'exact' | 'any';
interface JsonNotation {
  /** `any` for messages of protocols that are not ours; absent: `exact`. */
  readonly numbers?: JsonNumbers;
}

/**
 * As {@link parseJsonObject}, for bodies that may be another value than an object.
 *
 * @param options.maxCommas how many there may be outside of texts: a bound on members and elements that holds before a
 *   parser makes objects of them
 * @throws JsonRefused
 */
export function parseJsonValue(
  bytes: Uint8Array,
  options: JsonNotation & { readonly maxCommas?: number } = {},
): unknown {
  const { numbers = 'exact', maxCommas = Infinity } = options;
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw new JsonRefused('bom');
  // Before any parser sees them: a megabyte of brackets costs one pass over the bytes.
  const names = countNames(bytes, numbers, maxCommas);
  const value = parse(decode(bytes));
  if (countMembers(value, numbers) !== names) throw new JsonRefused('duplicate_name');
  return value;
}

/** Whether a parsed JSON value is an object (and neither null nor an array). */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Member names in the text, a repeated one counted each time: in JSON a colon outside a string follows a name.
 * Checks the depth and the number of values on its way, and that no integer is written with fraction or exponent.
 */
function countNames(bytes: Uint8Array, numbers: JsonNumbers, maxCommas: number): number {
  let names = 0;
  let commas = 0;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === COLON) names++;
    else if (byte === COMMA) {
      if (++commas > maxCommas) throw new JsonRefused('values');
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > MAX_DEPTH) throw new JsonRefused('depth');
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
    else if (numbers === 'exact' && (byte === FULL_STOP || isExponent(bytes, at)))
      at = endOfFraction(bytes, at);
  }
  return names;
}

/** Index of the quote that ends the string, the length of the text where none does. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Index of the last character of the number around an index; throws where that number is an integer. */
function endOfFraction(bytes: Uint8Array, at: number): number {
  let start = at;
  while (isNumeric(bytes[start - 1])) start--;
  let end = at + 1;
  while (isNumeric(bytes[end])) end++;
  const written = Buffer.from(bytes.subarray(start, end)).toString('latin1');
  if (Number.isInteger(Number(written))) throw new JsonRefused('number');
  return end - 1;
}

/** Whether an `e` belongs to a number and not to `true` or `false`. */
function isExponent(bytes: Uint8Array, at: number): boolean {
  return (bytes[at] === LOWER_E || bytes[at] === UPPER_E) && isDigit(bytes[at - 1]);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isNumeric(byte: number | undefined): boolean {
  if (isDigit(byte)) return true;
  return byte === FULL_STOP || byte === PLUS || byte === MINUS || byte === LOWER_E || byte === UPPER_E;
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new JsonRefused('utf8');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new JsonRefused('syntax');
  }
}

/** Members that survived parsing, nested ones included; fewer than names in the text where one stood twice. */
function countMembers(value: unknown, numbers: JsonNumbers): number {
  if (typeof value === 'string') checkText(value);
  else if (typeof value === 'number') checkNumber(value, numbers);
  else if (Array.isArray(value)) return sum(value, numbers);
  else if (isObject(value)) {
    const names = Object.keys(value);
    for (const name of names) checkName(name);
    return names.length + sum(Object.values(value), numbers);
  }
  return 0;
}

function sum(values: readonly unknown[], numbers: JsonNumbers): number {
  let members = 0;
  for (const value of values) members += countMembers(value, numbers);
  return members;
}

function checkText(text: string): void {
  if (!text.isWellFormed()) throw new JsonRefused('lone_surrogate');
}

function checkName(name: string): void {
  if (name === '__proto__') throw new JsonRefused('forbidden_name');
  checkText(name);
}

function checkNumber(value: number, numbers: JsonNumbers): void {
  const mustBeSafe = numbers === 'exact' && Number.isInteger(value);
  if (mustBeSafe ? !Number.isSafeInteger(value) : !Number.isFinite(value)) throw new JsonRefused('number');
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}
