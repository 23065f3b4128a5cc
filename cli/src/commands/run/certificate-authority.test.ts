import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { type CertificateAuthority, createCertificateAuthority } from './certificate-authority.ts';

/** Why a client that trusts the authority does not take its certificate for a host; undefined where it does. */
async function problemOf(authority: CertificateAuthority, host: string): Promise<string | undefined> {
  const server = createServer(await authority.leafFor(host)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  server.on('tlsClientError', () => undefined);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const name = /[.:]\d|::/.test(host) ? '' : host;
  const socket = connect({
    port,
    ca: authority.pem,
    host: '127.0.0.1',
    servername: name,
    checkServerIdentity: () => undefined,
  });
  onTestFinished(() => void socket.destroy());
  return once(socket, 'secureConnect').then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  );
}

test.each([
  [
    ['api.example.com'],
    ['api.example.com', 'v2.api.example.com'],
    ['example.com', 'other.example', '127.0.0.1', '::1'],
  ],
  [
    ['127.0.0.1', '::1'],
    ['127.0.0.1', '::1'],
    ['127.0.0.2', '::2', 'example.com'],
  ],
  [
    ['10.0.0.1', 'a.example'],
    ['10.0.0.1', 'a.example'],
    ['10.0.0.2', '::1', 'b.example'],
  ],
])('an authority for %j vouches for %j and not for %j', async (hosts, trusted, distrusted) => {
  const authority = await createCertificateAuthority(hosts);
  for (const host of trusted) expect([host, await problemOf(authority, host)]).toEqual([host, undefined]);
  for (const host of distrusted)
    expect([host, await problemOf(authority, host)]).toEqual([
      host,
      expect.stringMatching(/PERMITTED|EXCLUDED|UNSPECIFIED|CERT/),
    ]);
});

test('two runs have two authorities, each of which ends within 31 days and signs no other authority', async () => {
  const [one, other] = [
    await createCertificateAuthority(['a.example']),
    await createCertificateAuthority(['a.example']),
  ];
  expect(one.pem).not.toBe(other.pem);
  const { cert, key } = await one.leafFor('a.example');
  const [authority, leaf] = [new X509Certificate(one.pem), new X509Certificate(cert)];
  expect(leaf.verify(authority.publicKey)).toBe(true);
  expect(leaf.verify(new X509Certificate(other.pem).publicKey)).toBe(false);
  expect([authority.ca, leaf.ca, leaf.subjectAltName, key.startsWith('-----BEGIN PRIVATE KEY')]).toEqual([
    ...[true, false, 'DNS:a.example', true],
  ]);
  for (const { validTo } of [authority, leaf]) {
    const days = (Date.parse(validTo) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29);
    expect(days).toBeLessThan(31);
  }
});
