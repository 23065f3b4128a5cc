import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { SealedError, UsageError } from './errors.ts';
import { jsonObject } from './http.ts';

/** Of PROTOCOL.md, section 5.5. */
export type SealingCurve = 'P-256' | 'P-384' | 'X25519';

/** RFC 7518 section 6.2.1, RFC 8037 section 2. */
export interface PublicSealingJwk {
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
  readonly y?: string;
}

/** The caller stores it as a secret. */
export interface SealingJwk extends PublicSealingJwk {
  readonly d: string;
}

/** Four secret fields of 64 KiB, each byte escaped in JSON and all of it in base64url, are less. */
const MAX_CHARACTERS = 2_500_000;

/** By curve: the key type, and the members of a public key. */
const CURVES: Readonly<
  Record<string, { readonly kty: string; readonly coordinates: readonly ('x' | 'y')[] }>
> = {
  'P-256': { kty: 'EC', coordinates: ['x', 'y'] },
  'P-384': { kty: 'EC', coordinates: ['x', 'y'] },
  X25519: { kty: 'OKP', coordinates: ['x'] },
};

const HEADER_MEMBERS = ['alg', 'cty', 'enc', 'epk', 'kid'];

/** A new private key. Its owner gets the {@link publicJwk} of it. */
export function createSealingKey(curve: SealingCurve = 'P-256'): SealingJwk {
  const { privateKey } =
    curve === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: curve });
  return privateKey.export({ format: 'jwk' }) as unknown as SealingJwk;
}

/** The public part of a sealing key, for `svault agents edit NAME --sealing-key`. */
export function publicJwk({ kty, crv, x, y }: PublicSealingJwk): PublicSealingJwk {
  return { kty, crv, x, ...(y !== undefined && { y }) };
}

/** Opens what is sealed to one key. */
export interface SealedReader {
  /** @param text a compact JWE. @returns its content. @throws SealedError */
  open(text: string): Promise<string>;
}

/**
 * Reads a private JWK. `jose` is loaded when something is opened.
 * @throws UsageError for anything else; the message says nothing of the key
 */
export function sealedReader(given: SealingJwk | string): SealedReader {
  const jwk = typeof given === 'string' ? (jsonObject(given) as unknown as SealingJwk) : given;
  mustBePrivateKey(jwk);
  return {
    async open(jwe) {
      if (jwe.length > MAX_CHARACTERS) throw new SealedError('too_large');
      const { calculateJwkThumbprint, compactDecrypt, importJWK } = await import('jose');
      const { alg, enc, kid, zip, epk } = headerOf(jwe);
      if (alg !== 'ECDH-ES' || enc !== 'A256GCM' || zip !== undefined) throw new SealedError('algorithm');
      if (kid !== (await calculateJwkThumbprint({ ...publicJwk(jwk) }))) throw new SealedError('other_key');
      if (epk.crv !== jwk.crv) throw new SealedError('malformed');
      try {
        const { plaintext } = await compactDecrypt(jwe, await importJWK({ ...jwk }, 'ECDH-ES'), {
          keyManagementAlgorithms: ['ECDH-ES'],
          contentEncryptionAlgorithms: ['A256GCM'],
        });
        return new TextDecoder('utf-8', { fatal: true }).decode(plaintext);
      } catch {
        throw new SealedError('not_decryptable');
      }
    },
  };
}

/** Also that the public part is the private one's: what is sealed names the public part. */
function mustBePrivateKey(jwk: SealingJwk): void {
  try {
    const { coordinates } = CURVES[jwk.crv] ?? { coordinates: [] };
    const computed = createPublicKey(createPrivateKey({ key: { ...jwk }, format: 'jwk' })).export({
      format: 'jwk',
    });
    if (coordinates.length > 0 && coordinates.every((name) => computed[name] === jwk[name])) return;
  } catch {
    // Node's message could repeat a part of the key.
  }
  throw new UsageError('sealingKey is not a private key of P-256, P-384 or X25519 in JWK form');
}

interface SealedHeader {
  readonly alg: unknown;
  readonly enc: unknown;
  readonly kid: unknown;
  readonly zip: unknown;
  readonly epk: PublicSealingJwk;
}

/** PROTOCOL.md section 5.4 and RFC 7518 section 4.6.1. Any other member could change what the rest means: none is known. */
function headerOf(jwe: string): SealedHeader {
  const [first = '', encryptedKey, ...others] = jwe.split('.', 6);
  const header = jsonObject(Buffer.from(first, 'base64url').toString('utf8'));
  const { zip: _zip, ...known } = header;
  const epk = known['epk'] instanceof Object ? (known['epk'] as Record<string, unknown>) : {};
  const curve = CURVES[String(epk['crv'])];
  const isWhole =
    // With ECDH-ES alone the key is agreed on and not sent (RFC 7518 section 4.6).
    /^[\w-]+$/.test(first) &&
    encryptedKey === '' &&
    others.length === 3 &&
    known['cty'] === 'json' &&
    namesOf(known) === HEADER_MEMBERS.join() &&
    epk['kty'] === curve?.kty &&
    namesOf(epk) === ['crv', 'kty', ...(curve?.coordinates ?? [])].join();
  if (!isWhole) throw new SealedError('malformed');
  return header as unknown as SealedHeader;
}

const namesOf = (members: object): string => Object.keys(members).toSorted().join();
