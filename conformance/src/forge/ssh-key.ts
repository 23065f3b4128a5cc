import { createHash, generateKeyPairSync, randomInt } from 'node:crypto';
import { rsaPair } from './rsa-pair.ts';

/** An SSH key as `ssh-keygen` writes it. */
export interface SshKey {
  /** With its armour and a line feed at the end. */
  readonly privateKey: string;
  /** Type, key and a comment. */
  readonly publicKey: string;
  /** What `ssh-keygen -l` prints: `SHA256:` and base64 without padding. */
  readonly fingerprint: string;
}

const COMMENT = 'svault conformance';
const ED25519 = 'ssh-ed25519';

/** A new Ed25519 key; the private one is in OpenSSH's own form (its PROTOCOL.key). */
export function ed25519Key(): SshKey {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, point] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')];
  const blob = Buffer.concat([string(ED25519), string(point)]);
  const check = number(randomInt(2 ** 32));
  const secret = Buffer.concat([check, check, blob, string(Buffer.concat([seed, point])), string(COMMENT)]);
  const padding = Buffer.from([1, 2, 3, 4, 5, 6, 7].slice(0, -secret.length & 7));
  const file = Buffer.concat([
    Buffer.from('openssh-key-v1\0', 'latin1'),
    string('none'),
    string('none'),
    string(''),
    number(1),
    string(blob),
    string(Buffer.concat([secret, padding])),
  ]);
  const lines = file.toString('base64').match(/.{1,70}/g) ?? [];
  const label = 'OPENSSH PRIVATE KEY';
  const privateKey = `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
  return { privateKey, ...returned(ED25519, blob) };
}

/** The run's RSA key; the private one is in PEM (PKCS #1), as `ssh-keygen -m PEM` writes it. */
export function rsaKey(): SshKey {
  const { privateKey } = rsaPair();
  const { n = '', e = '' } = privateKey.export({ format: 'jwk' });
  const blob = Buffer.concat([string('ssh-rsa'), mpint(e), mpint(n)]);
  return {
    privateKey: privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
    ...returned('ssh-rsa', blob),
  };
}

function returned(type: string, blob: Buffer): Pick<SshKey, 'publicKey' | 'fingerprint'> {
  const hash = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '');
  return { publicKey: `${type} ${blob.toString('base64')} ${COMMENT}`, fingerprint: `SHA256:${hash}` };
}

/** RFC 4251 section 5. */
function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function string(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length), bytes]);
}

/** A positive number; one whose first bit is set gets a zero byte before it. */
function mpint(base64url: string): Buffer {
  const bytes = Buffer.from(base64url, 'base64url');
  return string((bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
}
