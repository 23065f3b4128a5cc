import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { publicKeyOf, readPublicKeyLine } from './ssh-public-key.ts';

/** Made by ssh-keygen, as is its fingerprint. */
const BASE64 = 'AAAAC3NzaC1lZDI1NTE5AAAAIJW9EOXFIOaCy8mIZSoIeLBvq83iRjn4RTo0UiD3adAn';
const LINE = `ssh-ed25519 ${BASE64}`;
const FINGERPRINT = 'SHA256:QLm3DHZN9U3zpHiDxfCBBRdwImhSxkY183Z7bNHMybw';

const sshString = (value: Buffer | string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(value.length);
  return Buffer.concat([length, Buffer.from(value)]);
};

/** OpenSSH's private key format around a public key; what follows it is none of our business. */
function opensshKey(cipher: string): string {
  const bytes = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[cipher, 'none', ''].map(sshString),
    Buffer.of(0, 0, 0, 1),
    sshString(Buffer.from(BASE64, 'base64')),
    sshString('the private part'),
  ]);
  const kind = 'OPENSSH PRIVATE KEY';
  return `-----BEGIN ${kind}-----\n${bytes.toString('base64').replace(/.{70}/g, '$&\n')}\n-----END ${kind}-----\n`;
}

describe('readPublicKeyLine', () => {
  it('computes the fingerprint that ssh-keygen prints', () => {
    expect(readPublicKeyLine(`${LINE} somebody@somewhere\n`)).toEqual({
      line: `${LINE} somebody@somewhere`,
      fingerprint: FINGERPRINT,
    });
  });

  it.each(['', 'ssh-ed25519', `ssh-rsa ${BASE64}`, 'ssh-ed25519 AAAA', `no-type ${BASE64}`])(
    'reads nothing from %j',
    (text) => expect(readPublicKeyLine(text)).toBeUndefined(),
  );
});

describe('publicKeyOf', () => {
  it.each(['none', 'aes256-ctr'])('reads OpenSSH keys, cipher %s', (cipher) => {
    expect(publicKeyOf(opensshKey(cipher))).toEqual({ line: LINE, fingerprint: FINGERPRINT });
  });

  it.each([
    ['ssh-ed25519', generateKeyPairSync('ed25519')],
    ['ecdsa-sha2-nistp256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['ecdsa-sha2-nistp384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
    ['ssh-rsa', generateKeyPairSync('rsa', { modulusLength: 2048 })],
  ])('reads PEM keys of %s', (type, { privateKey, publicKey }) => {
    const known = publicKeyOf(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
    const jwk = publicKey.export({ format: 'jwk' });
    expect(known).toEqual(readPublicKeyLine(known?.line ?? ''));
    const blob = Buffer.from(known?.line.split(' ')[1] ?? '', 'base64');
    expect(known?.line.startsWith(`${type} `)).toBe(true);
    expect(blob.includes(Buffer.from(jwk.x ?? jwk.n ?? '', 'base64url'))).toBe(true);
  });

  it.each(['', 'not a key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----'])(
    'tells nothing about %j',
    (text) => expect(publicKeyOf(text)).toBeUndefined(),
  );
});
