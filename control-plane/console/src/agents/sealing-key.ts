/** What is wrong with what was given as a sealing key. */
export class SealingKeyProblem extends Error {}

const CURVES = [
  { name: 'ECDH', namedCurve: 'P-256' },
  { name: 'ECDH', namedCurve: 'P-384' },
  { name: 'X25519' },
] as const;
type Curve = (typeof CURVES)[number];

const THUMBPRINT = /^[\w-]{43}$/;
const PEM = /^-----BEGIN ([A-Z ]+)-----([\s\S]*)-----END \1-----$/;

/**
 * The RFC 7638 thumbprint of a public key, computed in the browser: the API takes the thumbprint alone, and a key that was
 * pasted by mistake goes nowhere.
 * @param text a public JWK, a public key in PEM, or a thumbprint
 * @throws SealingKeyProblem, without a word of the text
 */
export async function thumbprintOf(text: string): Promise<string> {
  const given = text.trim();
  if (THUMBPRINT.test(given)) return given;
  const [, label, body] = PEM.exec(given) ?? [];
  if (label?.includes('PRIVATE')) throw new SealingKeyProblem(PRIVATE);
  if (label !== undefined && label !== 'PUBLIC KEY')
    throw new SealingKeyProblem(`This is a ${label.toLowerCase()}. Give a public key: BEGIN PUBLIC KEY.`);
  const key = label === undefined ? jwkIn(given) : bytesIn(body ?? '');
  // `crypto.subtle` is there at https addresses and on this computer only.
  if ((crypto as Partial<Crypto>).subtle === undefined)
    throw new SealingKeyProblem(
      'This address is not https, so the browser cannot read keys. Give the thumbprint.',
    );
  for (const curve of CURVES) {
    const jwk = await exported(key, curve);
    if (jwk !== undefined) return digestOf(jwk);
  }
  throw new SealingKeyProblem('This is not a public key of P-256, P-384 or X25519.');
}

const PRIVATE = 'This is a private key, which must stay with the agent. Give its public part.';

function jwkIn(text: string): JsonWebKey {
  let jwk: unknown;
  try {
    jwk = JSON.parse(text);
  } catch {
    throw new SealingKeyProblem('This is no JWK, no PEM and no thumbprint. The text may be cut off.');
  }
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk))
    throw new SealingKeyProblem('This JSON is no JWK.');
  if ('d' in jwk) throw new SealingKeyProblem(PRIVATE);
  const { kty, crv, x, y } = jwk as JsonWebKey;
  return { ...(kty && { kty }), ...(crv && { crv }), ...(x && { x }), ...(y && { y }) };
}

function bytesIn(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64.replaceAll(/\s/g, '')), (character) => character.charCodeAt(0));
  } catch {
    throw new SealingKeyProblem('This PEM is damaged: its text is not base64.');
  }
}

/** The key as the browser spells it, once it is a point of the curve. */
async function exported(key: JsonWebKey | BufferSource, curve: Curve): Promise<JsonWebKey | undefined> {
  try {
    const read =
      'byteLength' in key
        ? await crypto.subtle.importKey('spki', key, curve, true, [])
        : await crypto.subtle.importKey('jwk', key, curve, true, []);
    return await crypto.subtle.exportKey('jwk', read);
  } catch {
    return undefined;
  }
}

/** RFC 7638 section 3: SHA-256 over the required members in lexicographic order. */
async function digestOf({ crv, kty, x, y }: JsonWebKey): Promise<string> {
  const members = JSON.stringify(kty === 'OKP' ? { crv, kty, x } : { crv, kty, x, y });
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(members));
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
