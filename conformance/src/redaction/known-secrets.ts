import { fromBase64, fromBase64url, toBase64, toBase64url, toHex, utf8 } from '@svault/shared';

/** Secrets of the webhook under test, and whatever texts would give them away. */
export interface KnownSecrets {
  /** A key's bytes, or a text such as a binding code. */
  learn(secret: Uint8Array | string): void;
  /** The text with every spelling of every secret replaced. */
  redact(text: string): string;
  /** Whether a secret stands in these bytes as it is. */
  isIn(bytes: Uint8Array): boolean;
}

export const REDACTED = '[redacted]';
/** Shorter ones would be found everywhere, and are none. */
const MIN_SECRET_BYTES = 12;
/** What may be an encoding of something longer that holds a secret. */
const ENCODED_RUN = /[A-Za-z0-9+/_=-]{16,}/g;
/** What may hold escapes, such as `%2B`, `\\u002b` or PHP's `\\/`. */
const WORD = /[^\s"]{12,}/g;
/** Bytes as a list of numbers, as some languages print them. */
const NUMBER_RUN = /\d{1,3}(?:[\s,]{1,4}\d{1,3}){11,}/g;

export function createKnownSecrets(): KnownSecrets {
  const raw: Buffer[] = [];
  const texts = new Set<string>();
  let pattern: RegExp | undefined;

  const holds = (bytes: Uint8Array): boolean => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return (
      raw.some((secret) => buffer.includes(secret)) || (pattern?.test(buffer.toString('latin1')) ?? false)
    );
  };
  const hidden = (run: string, ...decoded: ReadonlyArray<Uint8Array | undefined>): string =>
    decoded.some((bytes) => bytes !== undefined && holds(bytes)) ? REDACTED : run;

  return {
    learn(secret) {
      const bytes = Buffer.from(typeof secret === 'string' ? utf8(secret) : secret);
      if (bytes.byteLength < MIN_SECRET_BYTES || raw.some((known) => known.equals(bytes))) return;
      raw.push(bytes);
      for (const spelling of spellings(bytes)) texts.add(spelling);
      if (typeof secret === 'string') texts.add(secret).add(secret.replaceAll('-', ''));
      // The longest first: one may be the beginning of another.
      const alternatives = [...texts].toSorted((one, other) => other.length - one.length);
      pattern = new RegExp(alternatives.map(literal).join('|'), 'i');
    },
    isIn: (bytes) => raw.some((secret) => Buffer.from(bytes).includes(secret)),
    redact(text) {
      if (pattern === undefined) return text;
      return text
        .replace(new RegExp(pattern, 'gi'), REDACTED)
        .replace(NUMBER_RUN, (run) => hidden(run, Uint8Array.from(run.split(/[\s,]+/), Number)))
        .replace(WORD, (run) => (/[\\%]/.test(run) ? hidden(run, latin1(unescaped(run))) : run))
        .replace(ENCODED_RUN, (run) => hidden(run, ...decodings(run)));
    },
  };
}

/** How bytes are written as text: each encoding, and each encoding of the text that an encoding gives. */
function spellings(bytes: Uint8Array): readonly string[] {
  const once = [...encodings(bytes), printedByPython(bytes)];
  return [...once, ...once.flatMap((text) => encodings(utf8(text)))];
}

function encodings(bytes: Uint8Array): readonly string[] {
  const base64 = toBase64(bytes);
  return [toBase64url(bytes), base64, base64.replace(/=+$/, ''), encodeURIComponent(base64), toHex(bytes)];
}

function printedByPython(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) =>
    byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('');
}

/** A secret may begin anywhere in what was encoded, and a run anywhere in what is shown. */
function decodings(run: string): ReadonlyArray<Uint8Array | undefined> {
  const letters = run.replaceAll('=', '');
  const hex = /^(?:[0-9a-f]{2})+$/i.test(letters) ? Buffer.from(letters, 'hex') : undefined;
  const whole = letters.slice(0, letters.length - (letters.length % 4));
  return [
    hex,
    fromBase64url(letters),
    fromBase64(letters.padEnd(Math.ceil(letters.length / 4) * 4, '=')),
    Buffer.from(whole, 'base64'),
    ...[1, 2, 3].map((offset) => Buffer.from(letters.slice(offset), 'base64')),
  ];
}

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

function unescaped(run: string): string {
  return run
    .replace(/(?:\\u00|\\x|%)([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .replaceAll('\\/', '/');
}

/** A text as a pattern that matches it alone. */
function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
