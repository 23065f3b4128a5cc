import { setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { type Egress, createEgress } from '@svault/shared/egress';
import { type CountingServer, countingServer } from './counting-server.ts';
import { Opened, callTo, taken } from './stream-calls.ts';
import { testCertificate } from './test-certificate.ts';

describe('calls that are connected to another address', () => {
  const opened = new Opened();
  afterEach(() => opened.close());
  const serverOf = async (tls?: { key: string; cert: string }): Promise<CountingServer> =>
    opened.of(await countingServer((req, res) => void res.end(req.headers.host), tls && { tls }));
  const egressOf = (connectTo: readonly string[]): Egress => opened.egress({ allow: [], connectTo });
  const get = async (egress: Egress, url: string): Promise<string> =>
    (await egress.request({ method: 'GET', url, timeoutMs: 20_000 })).body.toString();

  it.each(['127.0.0.1:9', 'hook.test:9', 'HOOK.test:9', '[::1]:9', '127.1:9'])(
    'for %s reach the configured address, with the original Host',
    async (called) => {
      const { port } = await serverOf();
      const { host } = new URL(`http://${called}`);
      const egress = egressOf([`${called}=127.0.0.1:${port}`]);
      expect(await get(egress, `http://${host}/`)).toBe(host);
    },
  );

  it('include those to a default port, configured by its number', async () => {
    const { port } = await serverOf();
    const egress = egressOf([`hook.test:80=localhost:${port}`]);
    expect(await get(egress, 'http://hook.test/')).toBe('hook.test');
  });

  it('stream responses', async () => {
    const { port } = await serverOf();
    const egress = egressOf([`hook.test:9=127.0.0.1:${port}`]);
    const { text } = await taken(egress, callTo(9, { url: 'http://hook.test:9/' }));
    expect(text).toBe('hook.test:9');
  });

  it('require a certificate for the original name', async () => {
    const certificate = await testCertificate();
    setDefaultCACertificates([certificate.cert]);
    const { port } = await serverOf(certificate);
    const egress = egressOf([`hook.test:443=127.0.0.1:${port}`, `other.test:443=127.0.0.1:${port}`]);
    expect(await get(egress, 'https://hook.test/')).toBe('hook.test');
    await expect(get(egress, 'https://other.test/')).rejects.toMatchObject({ kind: 'tls' });
  });

  it('require a certificate for the original address, and not for the name that they connect to', async () => {
    const [ofPlace, ofAddress] = [await testCertificate('localhost'), await testCertificate('192.0.2.9')];
    setDefaultCACertificates([ofPlace.cert, ofAddress.cert]);
    const [place, address] = [await serverOf(ofPlace), await serverOf(ofAddress)];
    const egress = egressOf([`192.0.2.8:9=localhost:${place.port}`, `192.0.2.9:9=localhost:${address.port}`]);
    await expect(get(egress, 'https://192.0.2.8:9/')).rejects.toMatchObject({ kind: 'tls' });
    expect(await get(egress, 'https://192.0.2.9:9/')).toBe('192.0.2.9:9');
  });

  it('follow their own entry only, even if another entry names its target', async () => {
    const { port } = await serverOf();
    const egress = egressOf([`hook.test:9=127.0.0.1:${port}`, `127.0.0.1:${port}=127.0.0.1:1`]);
    expect(await get(egress, 'http://hook.test:9/')).toBe('hook.test:9');
  });

  it('do not use a connection that is open for another name', async () => {
    const { port } = await serverOf();
    const egress = egressOf([`hook.test:${port}=127.0.0.1:${port}`]);
    await get(egress, `http://hook.test:${port}/`);
    await expect(get(egress, `http://127.0.0.1:${port}/`)).rejects.toMatchObject({ name: 'EgressRefused' });
  });

  it.each([
    'a?x:1=b:2',
    'a#x:1=b:2',
    'a\\x:1=b:2',
    '*:443=b:2',
    'a:0=b:2',
    'a:1=b:0',
    'a.:1=b:2',
    '[::1%25eth0]:1=b:2',
  ])('are configured by host and port only: %s is rejected', (entry) => {
    expect(() => createEgress({ allow: [], connectTo: [entry] })).toThrow(RangeError);
  });

  it('have one target: a second one for the same host is rejected, in any spelling', () => {
    expect(() => createEgress({ allow: [], connectTo: ['127.1:80=b:1', '127.0.0.1:080=c:1'] })).toThrow(
      RangeError,
    );
  });

  it.each(['http://127.0.0.1:10/', 'http://127.0.0.2:9/', 'https://127.0.0.1/'])(
    'do not include others: %s is denied as usual',
    async (url) => {
      const server = await serverOf();
      const egress = egressOf([`127.0.0.1:9=127.0.0.1:${server.port}`]);
      await expect(get(egress, url)).rejects.toMatchObject({ name: 'EgressRefused' });
      expect(server.connections()).toBe(0);
    },
  );
});
