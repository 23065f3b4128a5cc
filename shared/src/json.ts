/** Why a text is not the JSON that PROTOCOL.md section 2 requires. */
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

/** A text is not the JSON that PROTOCOL.md section 2 requires. The error does not quote it. */
export class JsonRefused extends Error {
  override readonly name = 'JsonRefused';
  readonly reason: JsonRefusalReason;

  constructor(reason: JsonRefusalReason) {
    super(`JSON refused: ${reason}`);
    this.reason = reason;
  }
}

/** PROTOCOL.md section 2. An outermost object or array has depth 1. */
const MAX_DEPTH = 32;

const QUOTE = 0x22;
const MINUS = 0x2d;
const FULL_STOP = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const LOWER_E = 0x65;

/** What a byte outside of strings is to the first pass, by its value; 0 for everything else. */
const COLON = 1;
const COMMA = 2;
const OPENING = 3;
const CLOSING = 4;
const DIGIT = 5;
const NUMERIC = 6;
const STRING = 7;
const KIND_OF_BYTE = new Uint8Array(256);
for (const [kind, characters] of [
  [COLON, ':'],
  [COMMA, ','],
  [OPENING, '{['],
  [CLOSING, '}]'],
  [DIGIT, '0123456789'],
  [NUMERIC, '.eE+-'],
  [STRING, '"'],
] as const) {
  for (const character of characters) KIND_OF_BYTE[character.charCodeAt(0)] = kind;
}

/**
 * A decimal of this many digits survives the conversion to a double and back: a fraction does not become an integer.
 */
const MAX_EXACT_DIGITS = 15;
/** Far from where a double loses a small number (1e-324). */
const MAX_EXPONENT_DIGITS = 2;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** How numbers may be written: `any` is RFC 8259's, short of what a double cannot hold at all (`1e400`). */
type JsonNumbers = 'exact' | 'any';
interface JsonNotation {
  /** `any` for messages of protocols that are not ours; absent: `exact`. */
  readonly numbers?: JsonNumbers;
  /** How many commas there may be outside of texts: a bound on members and elements before any of them is made. */
  readonly maxCommas?: number;
}

/**
 * PROTOCOL.md section 2: UTF-8 without a byte order mark, one object, at most 32 deep, no name twice in an object;
 * integers without fraction or exponent and below 2^53. Also refused: text that UTF-8 cannot carry (lone
 * surrogates), and the name `__proto__`, which no message has and which some code takes for a prototype.
 * @throws JsonRefused
 */
export function parseJsonObject(bytes: Uint8Array, options?: JsonNotation): Record<string, unknown> {
  return objectOf(parseStrictly(bytes, options));
}

/**
 * As {@link parseJsonObject}, with members that are null left out, at any depth: readers of the webhook protocol take
 * null as absent (PROTOCOL.md section 2). What the wire schemas read.
 * @throws JsonRefused
 */
export function parseWireObject(bytes: Uint8Array, options?: JsonNotation): Record<string, unknown> {
  return objectOf(parseStrictly(bytes, options, true));
}

/** As {@link parseJsonObject}, for bodies that may be another value than an object. @throws JsonRefused */
export function parseJsonValue(bytes: Uint8Array, options?: JsonNotation): unknown {
  return parseStrictly(bytes, options);
}

/** Whether a parsed JSON value is an object (and neither null nor an array). */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw new JsonRefused('not_an_object');
  return value;
}

/** Linear, at most a few times what `JSON.parse` takes: an unauthenticated body costs no more than its bytes. */
function parseStrictly(bytes: Uint8Array, notation: JsonNotation = {}, dropNulls = false): unknown {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw new JsonRefused('bom');
  const { numbers = 'exact', maxCommas = Infinity } = notation;
  // Before any parser sees them: a megabyte of brackets costs one pass over the bytes.
  const names = countNames(bufferOver(bytes), numbers, maxCommas);
  const reader = new ValueReader(numbers, dropNulls);
  const value = reader.read(parse(decode(bytes)));
  if (reader.members !== names) throw new JsonRefused('duplicate_name');
  return value;
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

/**
 * Member names in the text, a repeated one counted each time: in JSON a colon outside a string follows a name.
 * Checks the depth and the number of values on its way, and that no integer is written with fraction or exponent.
 */
function countNames(bytes: Buffer, numbers: JsonNumbers, maxCommas: number): number {
  let names = 0;
  let commas = 0;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const kind = kindAt(bytes, at);
    if (kind === 0) continue;
    if (kind === STRING) at = endOfString(bytes, at);
    else if (kind === COLON) names++;
    else if (kind === DIGIT) {
      if (numbers === 'exact') at = endOfNumber(bytes, at);
    } else if (kind === COMMA) {
      if (++commas > maxCommas) throw new JsonRefused('values');
    } else if (kind === OPENING) {
      if (++depth > MAX_DEPTH) throw new JsonRefused('depth');
    } else if (kind === CLOSING) depth--;
  }
  return names;
}

/** Index of the quote that ends the string, the length of the text where none does. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Index of the last character of the number that begins with this digit; throws where it is an integer in disguise. */
function endOfNumber(bytes: Buffer, start: number): number {
  let end = endOfDigits(bytes, start);
  if (kindAt(bytes, end) !== NUMERIC) return end - 1;
  let isFraction = bytes[end] === FULL_STOP;
  if (isFraction) end = endOfDigits(bytes, end + 1);
  // `1.5` and `1.5e-7`: no multiple of ten divided by one is no integer. What is not that simple is converted.
  const isSimple = isNonZeroDigit(bytes[end - 1]) && end - start <= MAX_EXACT_DIGITS;
  if (bytes[end] === LOWER_E && bytes[end + 1] === MINUS) {
    const exponent = end + 2;
    end = endOfDigits(bytes, exponent);
    isFraction = isNonZeroDigit(bytes[exponent]) && end - exponent <= MAX_EXPONENT_DIGITS;
  }
  if (isSimple && isFraction && kindAt(bytes, end) !== NUMERIC) return end - 1;
  while (kindAt(bytes, end) === NUMERIC || kindAt(bytes, end) === DIGIT) end++;
  if (Number.isInteger(Number(bytes.toString('latin1', start, end)))) throw new JsonRefused('number');
  return end - 1;
}

function endOfDigits(bytes: Uint8Array, start: number): number {
  let end = start;
  while (kindAt(bytes, end) === DIGIT) end++;
  return end;
}

const isNonZeroDigit = (byte = ZERO): boolean => byte > ZERO && byte <= NINE;
const kindAt = (bytes: Uint8Array, at: number): number => KIND_OF_BYTE[bytes[at] ?? 0] ?? 0;

/** Checks what `JSON.parse` made, and counts its members: fewer than names in the text where one stood twice. */
class ValueReader {
  members = 0;
  readonly #numbers: JsonNumbers;
  readonly #dropNulls: boolean;

  constructor(numbers: JsonNumbers, dropNulls: boolean) {
    this.#numbers = numbers;
    this.#dropNulls = dropNulls;
  }

  /** @returns the value itself, changed where members that are null are left out */
  read(value: unknown): unknown {
    if (typeof value === 'string') checkText(value);
    else if (typeof value === 'number') this.#checkNumber(value);
    else if (Array.isArray(value)) return this.#readElements(value);
    else if (isObject(value)) return this.#readMembers(value);
    return value;
  }

  #readElements(array: unknown[]): unknown[] {
    for (let at = 0; at < array.length; at++) array[at] = this.read(array[at]);
    return array;
  }

  #readMembers(object: Record<string, unknown>): Record<string, unknown> {
    let nulls = 0;
    for (const name in object) {
      this.members++;
      checkName(name);
      const member = object[name];
      if (member === null) nulls++;
      else if (typeof member === 'object') object[name] = this.read(member);
      else this.read(member);
    }
    return this.#dropNulls && nulls > 0 ? withoutNulls(object) : object;
  }

  #checkNumber(value: number): void {
    const mustBeSafe = this.#numbers === 'exact' && Number.isInteger(value);
    if (mustBeSafe ? !Number.isSafeInteger(value) : !Number.isFinite(value)) throw new JsonRefused('number');
  }
}

/** A copy, since a deletion turns each object into a slow one. */
function withoutNulls(object: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const name in object) if (object[name] !== null) kept[name] = object[name];
  return kept;
}

function checkText(text: string): void {
  if (!text.isWellFormed()) throw new JsonRefused('lone_surrogate');
}

function checkName(name: string): void {
  if (name === '__proto__') throw new JsonRefused('forbidden_name');
  checkText(name);
}

const bufferOver = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
