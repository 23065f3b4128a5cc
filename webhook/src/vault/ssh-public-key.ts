import { createPrivateKey, createPublicKey, hash } from 'node:crypto';

/** An SSH public key: its line in OpenSSH's form and the fingerprint that `ssh-keygen -l` prints. */
interface SshPublicKey {
  readonly line: string;
  /** `SHA256:` and 43 characters of base64 without padding. */
  readonly fingerprint: string;
}

const LINE = /^\s*((?:ssh|ecdsa|sk)-[a-z0-9@.-]+)\s+([A-Za-z0-9+/]+={0,2})(?:\s|$)/;
const OPENSSH_KEY = /-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END OPENSSH PRIVATE KEY-----/;
const OPENSSH_MAGIC = Buffer.from('openssh-key-v1\0', 'latin1');
const CURVES: Readonly<Record<string, string>> = {
  'P-256': 'nistp256',
  'P-384': 'nistp384',
  'P-521': 'nistp521',
};

/** Reads a line of `authorized_keys` without options; undefined for anything else. */
export function readPublicKeyLine(text: string): SshPublicKey | undefined {
  const [, type, base64 = ''] = LINE.exec(text) ?? [];
  const blob = Buffer.from(base64, 'base64');
  if (type === undefined || readString(blob, 0)?.toString('latin1') !== type) return undefined;
  return { line: text.trim(), fingerprint: fingerprintOf(blob) };
}

/**
 * The public key of a private one, if possible: OpenSSH's format carries it in the clear, PEM keys yield it
 * unless they are encrypted.
 */
export function publicKeyOf(privateKey: string): SshPublicKey | undefined {
  const blob = blobOfOpenssh(privateKey) ?? blobOfPem(privateKey);
  const type = blob && readString(blob, 0)?.toString('latin1');
  if (blob === undefined || type === undefined) return undefined;
  return { line: `${type} ${blob.toString('base64')}`, fingerprint: fingerprintOf(blob) };
}

const fingerprintOf = (blob: Buffer): string => `SHA256:${hash('sha256', blob, 'base64').replace(/=+$/, '')}`;

/** OpenSSH's PROTOCOL.key: magic, cipher, kdf, kdf options, number of keys, then the public key. */
function blobOfOpenssh(privateKey: string): Buffer | undefined {
  const [, base64] = OPENSSH_KEY.exec(privateKey) ?? [];
  if (base64 === undefined) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (!bytes.subarray(0, OPENSSH_MAGIC.length).equals(OPENSSH_MAGIC)) return undefined;
  let at = OPENSSH_MAGIC.length;
  for (let skipped = 0; skipped < 3; skipped += 1) {
    const value = readString(bytes, at);
    if (value === undefined) return undefined;
    at += 4 + value.length;
  }
  return readString(bytes, at + 4);
}

function blobOfPem(privateKey: string): Buffer | undefined {
  let jwk;
  try {
    jwk = createPublicKey(createPrivateKey(privateKey)).export({ format: 'jwk' });
  } catch {
    return undefined;
  }
  const bytes = (member: string | undefined): Buffer => Buffer.from(member ?? '', 'base64url');
  if (jwk.kty === 'RSA') return encode('ssh-rsa', mpint(bytes(jwk.e)), mpint(bytes(jwk.n)));
  if (jwk.kty === 'OKP' && jwk.crv === 'Ed25519') return encode('ssh-ed25519', bytes(jwk.x));
  const curve = CURVES[jwk.crv ?? ''];
  if (jwk.kty !== 'EC' || curve === undefined) return undefined;
  const point = Buffer.concat([Buffer.of(4), bytes(jwk.x), bytes(jwk.y)]);
  return encode(`ecdsa-sha2-${curve}`, Buffer.from(curve, 'latin1'), point);
}

/** RFC 4251 section 5: strings with a length of four bytes before them. */
function encode(type: string, ...values: readonly Buffer[]): Buffer {
  const parts = [Buffer.from(type, 'latin1'), ...values].flatMap((value) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    return [length, value];
  });
  return Buffer.concat(parts);
}

/** RFC 4251 section 5: a positive number whose first bit is set gets a zero byte before it. */
const mpint = (bytes: Buffer): Buffer =>
  (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes;

function readString(bytes: Buffer, at: number): Buffer | undefined {
  if (at + 4 > bytes.length) return undefined;
  const end = at + 4 + bytes.readUInt32BE(at);
  return end > bytes.length ? undefined : bytes.subarray(at + 4, end);
}
