import {
  type JsonWebKey,
  type KeyObject,
  createDecipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
} from 'node:crypto';
import { utf8 } from '@svault/shared';

/** Whom a sealed credential is for: a P-256 key pair whose private half never leaves its holder. */
export interface Recipient {
  readonly publicJwk: { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string };
  /** RFC 7638, as the agent's `sealingKeyThumbprint` at the control plane. */
  readonly thumbprint: string;
  /** @throws Error for a credential that is not encrypted to this key */
  open(jwe: string): string;
}

export function createRecipient(): Recipient {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const required = JSON.stringify({ crv: 'P-256', kty: 'EC', x, y });
  return {
    publicJwk: { kty: 'EC', crv: 'P-256', x, y },
    thumbprint: createHash('sha256').update(required).digest('base64url'),
    open: (jwe) => openJwe(jwe, privateKey),
  };
}

const ENC = 'A256GCM';
const KEY_BITS = 256;

/** Compact JWE by ECDH-ES with A256GCM (RFC 7516, RFC 7518 section 4.6), with Node's own crypto and nothing else. */
function openJwe(jwe: string, privateKey: KeyObject): string {
  const [header = '', , iv = '', ciphertext = '', tag = ''] = jwe.split('.');
  const { epk } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { epk: JsonWebKey };
  const shared = diffieHellman({ privateKey, publicKey: createPublicKey({ key: epk, format: 'jwk' }) });
  const decipher = createDecipheriv('aes-256-gcm', contentKey(shared), Buffer.from(iv, 'base64url'));
  decipher.setAAD(utf8(header)).setAuthTag(Buffer.from(tag, 'base64url'));
  return Buffer.concat([decipher.update(ciphertext, 'base64url'), decipher.final()]).toString('utf8');
}

/** One round of the Concat KDF (RFC 7518 section 4.6.2): SHA-256 gives just the 256 bits that are needed. */
function contentKey(shared: Buffer): Buffer {
  const algorithm = Buffer.concat([number(ENC.length), utf8(ENC)]);
  const noPartyInfo = number(0);
  return createHash('sha256')
    .update(Buffer.concat([number(1), shared, algorithm, noPartyInfo, noPartyInfo, number(KEY_BITS)]))
    .digest();
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
