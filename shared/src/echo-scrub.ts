import { toBase64url, utf8 } from './bytes.ts';
import { decodeEscapes } from './percent-encoding.ts';
import { basicSecret, isShortSecret } from './short-secret.ts';

type Field = readonly [name: string, value: string];

/** Protocol PRX-48: the fields that a client needs to read an answer, in which no upstream repeats a request. */
const FIELDS_BESIDE_A_SHORT_SECRET: ReadonlySet<string> = new Set([
  'allow',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'location',
  'mcp-protocol-version',
  'mcp-session-id',
  'retry-after',
]);

/**
 * Takes out of an answer's head every field that holds the secret (protocol PRX-26, PRX-34): as it is, percent-encoded
 * in any way, or in base64 or base64url, alone or in the middle of something longer, as `Bearer …` is.
 *
 * That a field is missing confirms a guess to who has the upstream repeat one, so it takes the whole secret, but for up
 * to 8 bits that base64 shares with its surroundings. A short secret could be guessed: beside it the fields that come
 * back are the same ones, whatever they hold.
 * @param secret what was sent in a header or a query, ASCII: an `accessToken`, a session's token
 * @param options.inQuery the secret was sent in a query. Servers copy the query into `Location`, so a short secret there
 *   removes that field too, whatever it contains (PROTOCOL.md HTP-37)
 */
export function createScrub(
  secret: string,
  { inQuery = false }: { readonly inQuery?: boolean } = {},
): (fields: readonly Field[]) => Field[] {
  if (isShortSecret(secret))
    return (fields) =>
      fields.filter(([name]) => FIELDS_BESIDE_A_SHORT_SECRET.has(name) && !(inQuery && name === 'location'));
  const holders = [secret, basicSecret(secret)].filter((text) => text !== undefined).map(holderOf);
  return (fields) => fields.filter((field) => !holders.some((holds) => holds(field)));
}

/** A URL is encoded once more when another URL has it in its query, such as that of a sign-in page. */
const MAX_DECODINGS = 3;

function holderOf(secret: string): (field: Field) => boolean {
  let traces: readonly string[] | undefined;
  const holdsTrace = (text: string): boolean => {
    traces ??= [secret, ...base64Traces(secret)];
    return traces.some((trace) => text.includes(trace));
  };
  const holdsSecret = (text: string): boolean => {
    // Each way to write a secret is at least as long as it is; most fields are shorter.
    return text.length >= secret.length && holdsDecoded(text, MAX_DECODINGS);
  };
  const holdsDecoded = (text: string, times: number): boolean =>
    holdsTrace(text) || (times > 0 && decodings(text).some((each) => holdsDecoded(each, times - 1)));
  // Names arrive in lower case.
  const lowerCase = secret.toLowerCase();
  return ([name, value]) => name.includes(lowerCase) || holdsSecret(value);
}

/** With `+` as itself, and as the space that it is in a form. @returns none for a text with nothing to decode */
const decodings = (text: string): readonly string[] =>
  [...new Set([text, text.replaceAll('+', ' ')])].map(decodeEscapes).filter((decoded) => decoded !== text);

/**
 * What base64 of any text around the secret is sure to have in it: one piece for each place in a group of three bytes.
 */
function base64Traces(secret: string): string[] {
  const bytes = utf8(secret);
  const traces = [0, 1, 2].map((before) => {
    const shifted = new Uint8Array(before + bytes.byteLength);
    shifted.set(bytes, before);
    const text = toBase64url(shifted);
    // Characters at the ends also hold bits of the surrounding text.
    const start = before === 0 ? 0 : before + 1;
    return text.slice(start, shifted.byteLength % 3 === 0 ? undefined : -1);
  });
  return [...new Set(traces.flatMap((trace) => [trace, inStandardAlphabet(trace)]))];
}

const inStandardAlphabet = (base64url: string): string => base64url.replaceAll('-', '+').replaceAll('_', '/');
