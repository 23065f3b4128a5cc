import { hash } from 'node:crypto';
import { parseDictionary } from 'structured-headers';
import { constantTimeEqual, fromBase64, sha256, toBase64 } from '../bytes.ts';
import { SignatureRefused } from './signature-refused.ts';

/** The value of `Content-Digest` for a body (RFC 9530 section 2): `sha-256=:<base64>:`. */
export function contentDigest(body: Uint8Array): string {
  return `sha-256=:${hash('sha256', body, 'base64')}:`;
}

/** PROTOCOL.md section 3: one `sha-256` of the raw bytes; other algorithms are ignored. @throws SignatureRefused */
export function verifyContentDigest(value: string, body: Uint8Array): void {
  const digest = readDigest(value);
  if (digest === undefined) throw new SignatureRefused('digest_malformed');
  if (!constantTimeEqual(digest, sha256(body))) throw new SignatureRefused('digest_mismatch');
}

/** What {@link contentDigest} writes. */
const OUR_FORM = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;

export function readDigest(value: string): Uint8Array | undefined {
  const encoded = OUR_FORM.exec(value)?.[1];
  return encoded === undefined ? readAnyDigest(value) : fromBase64(encoded);
}

/** The `sha-256` among whatever other digests; undefined if there is none, or something that is no digest. */
export function readAnyDigest(value: string): Uint8Array | undefined {
  let members;
  try {
    members = parseDictionary(value);
  } catch {
    return undefined;
  }
  // RFC 9530 section 2: each member is a byte sequence, so no comma is inside one. The parser keeps the last of
  // two members with one name; counting commas finds the first.
  for (const [content, parameters] of members.values()) {
    if (!(content instanceof ArrayBuffer) || parameters.size > 0) return undefined;
  }
  if (value.split(',').length !== members.size) return undefined;
  const [digest] = members.get('sha-256') ?? [];
  if (!(digest instanceof ArrayBuffer)) return undefined;
  // The parser takes any spelling of base64; here, as everywhere, one value has one.
  return value.includes(`sha-256=:${toBase64(new Uint8Array(digest))}:`) ? new Uint8Array(digest) : undefined;
}
