import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { certificateChain } from './certificate-chain.ts';
import { ed25519Key, rsaKey } from './ssh-key.ts';

test('a chain is valid for a certificate parser: a leaf with its key, signed by the authority', () => {
  const { certificate, privateKey } = certificateChain();
  const [leaf, authority] = (certificate.match(/-----BEGIN[^]+?-----END CERTIFICATE-----\n/g) ?? []).map(
    (each) => new X509Certificate(each),
  );
  expect(leaf?.checkPrivateKey(createPrivateKey(privateKey))).toBe(true);
  expect(
    leaf?.verify(createPublicKey(authority?.publicKey.export({ type: 'spki', format: 'pem' }) ?? '')),
  ).toBe(true);
  expect(authority?.ca).toBe(true);
  expect(leaf?.ca).toBe(false);
});

test('an RSA key is valid PEM, and is the same for a whole run', () => {
  const { privateKey, publicKey } = rsaKey();
  expect(createPrivateKey(privateKey).asymmetricKeyType).toBe('rsa');
  expect(rsaKey().publicKey).toBe(publicKey);
});

test('an Ed25519 key is new each time, in OpenSSH’s format', () => {
  const { privateKey, publicKey, fingerprint } = ed25519Key();
  expect(privateKey).toMatch(/^-----BEGIN OPENSSH PRIVATE KEY-----\n/);
  expect(fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
  expect(ed25519Key().publicKey).not.toBe(publicKey);
});
