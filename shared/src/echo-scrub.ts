import { toBase64url, utf8 } from './bytes.ts';

type Field = readonly [name: string, value: string];

/** Shorter pieces stand in names, and in base64, by chance. */
const LEAST_CHARACTERS = 8;

/**
 * Takes out of an answer's head every field that holds the secret (protocol section 5.6; reliability R18): as it is,
 * percent-encoded in any way, or in base64 or base64url, alone or in the middle of something longer, as `Bearer …` is.
 *
 * @param secret what was sent in a header, ASCII: an `accessToken`, a session's token
 */
export function createScrub(secret: string): (fields: readonly Field[]) => Field[] {
  const encoded = base64Traces(secret);
  const holdsTrace = (text: string): boolean =>
    text.includes(secret) || encoded.some((trace) => text.includes(trace));
  const holdsSecret = (text: string): boolean => {
    if (holdsTrace(text)) return true;
    const decoded = percentDecoded(text);
    return decoded !== text && (holdsTrace(decoded) || holdsTrace(decoded.replaceAll('+', ' ')));
  };
  // Names arrive in lower case.
  const lowerCase = secret.toLowerCase();
  const isNamedByIt = (name: string): boolean =>
    secret.length >= LEAST_CHARACTERS && name.includes(lowerCase);
  return (fields) => fields.filter(([name, value]) => !isNamedByIt(name) && !holdsSecret(value));
}

/** What base64 of any text around the secret is sure to have in it: one piece for each place in a group of three bytes. */
function base64Traces(secret: string): string[] {
  const bytes = utf8(secret);
  const traces = [0, 1, 2].map((before) => {
    const shifted = new Uint8Array(before + bytes.byteLength);
    shifted.set(bytes, before);
    const text = toBase64url(shifted);
    // Characters at the ends that also hold bits of what stands around.
    const start = before === 0 ? 0 : before + 1;
    return text.slice(start, shifted.byteLength % 3 === 0 ? undefined : -1);
  });
  const long = traces.filter(({ length }) => length >= LEAST_CHARACTERS);
  return [...new Set(long.flatMap((trace) => [trace, inStandardAlphabet(trace)]))];
}

const inStandardAlphabet = (base64url: string): string => base64url.replaceAll('-', '+').replaceAll('_', '/');

/** Each escape by itself, so that one broken escape hides nothing; as Latin-1, in which ASCII is itself. */
const percentDecoded = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_escape, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
