import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Egress, createEgress, EgressRefused } from '@svault/shared/egress';
import { type CountingServer, countingServer } from './counting-server.ts';

/** R9: what reaches the loopback by another name or notation. The port is filled in. */
const LOOPBACK_LITERALS = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0x7F.0x0.0x0.0x1',
  '017700000001',
  '0177.0.0.1',
  '127.0.0.1.',
  '0',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001::7f00:1]',
  '[::ffff:0:127.0.0.1]',
  '１２７.0.0.1',
  '127。0。0。1',
  '%31%32%37.0.0.1',
];

/** How both ways to call are refused; told apart where they differ. */
const refusal = async (egress: Egress, url: string): Promise<string> => {
  const refused = async (call: Promise<unknown>): Promise<string> => {
    try {
      await call;
    } catch (error) {
      return error instanceof EgressRefused ? error.reason : `not refused: ${String(error)}`;
    }
    return 'answered';
  };
  const whole = await refused(egress.request({ method: 'GET', url, timeoutMs: 5000 }));
  const call = {
    method: 'GET',
    url,
    headers: {},
    headTimeoutMs: 5000,
    idleTimeoutMs: 5000,
    partition: '',
  } as const;
  const streamed = await refused(egress.stream(call, () => new Writable()));
  return whole === streamed ? whole : `${whole}, streamed: ${streamed}`;
};

describe('egress makes no connection', () => {
  let server: CountingServer;
  let asked: string[];
  const resolveTo =
    (...addresses: string[]) =>
    (hostname: string) => {
      asked.push(hostname);
      return Promise.resolve(addresses);
    };

  beforeAll(async () => {
    asked = [];
    server = await countingServer((_req, res) => res.end('reached'));
  });
  afterAll(() => server.close());

  it.each(LOOPBACK_LITERALS.flatMap((host) => [`https://${host}`, `http://${host}`]))(
    'to %s',
    async (origin) => {
      const egress = createEgress({ allow: [], resolve: resolveTo('127.0.0.1') });
      asked = [];
      expect(await refusal(egress, `${origin}:${server.port}/`)).toBe('address');
      expect(asked, 'a literal is never looked up').toEqual([]);
      expect(server.connections()).toBe(0);
      await egress.close();
    },
  );

  it.each(['localhost', 'localhost.', 'LOCALHOST', 'anything.localhost', 'rebind.example'])(
    'to %s, a name that resolves to the loopback',
    async (host) => {
      const egress = createEgress({ allow: [], resolve: resolveTo('127.0.0.1') });
      expect(await refusal(egress, `https://${host}:${server.port}/`)).toBe('address');
      expect(server.connections()).toBe(0);
      await egress.close();
    },
  );

  it('to localhost through the resolver of the machine', async () => {
    const egress = createEgress({ allow: [] });
    expect(await refusal(egress, `https://localhost:${server.port}/`)).toBe('address');
    expect(server.connections()).toBe(0);
    await egress.close();
  });

  it.each([
    ['the first of two addresses is private', ['10.0.0.1', '1.1.1.1']],
    ['the last of two addresses is the loopback', ['1.1.1.1', '127.0.0.1']],
    ['an address is the metadata service of a cloud', ['169.254.169.254']],
    ['an address is IPv4-mapped', ['::ffff:127.0.0.1']],
    ['the resolver answers with something else', ['127.1']],
  ])('where %s', async (_case, addresses) => {
    const egress = createEgress({ allow: [], resolve: resolveTo(...addresses) });
    expect(await refusal(egress, `https://name.example:${server.port}/`)).toBe('address');
    expect(server.connections()).toBe(0);
    await egress.close();
  });

  it('by http to an address that is not allowed, public or not', async () => {
    const egress = createEgress({ allow: ['other.example', '10.0.0.0/8'], resolve: resolveTo('1.1.1.1') });
    expect(await refusal(egress, 'http://name.example/')).toBe('scheme');
    expect(await refusal(egress, 'http://1.1.1.1/')).toBe('scheme');
    await egress.close();
  });

  it.each([
    ['userinfo', 'https://user@name.example/'],
    ['userinfo', 'https://:password@name.example/'],
    ['userinfo', 'https://127.0.0.1:80@name.example/'],
    ['scheme', 'ftp://name.example/'],
    ['scheme', 'file:///etc/passwd'],
    ['scheme', 'data:text/plain,x'],
    ['malformed_url', 'name.example'],
    ['malformed_url', '//name.example/'],
    ['malformed_url', 'https://'],
    ['malformed_url', 'https://[fe80::1%25eth0]/'],
    ['malformed_url', 'https://256.256.256.256/'],
  ])('where the URL has the wrong %s: %s', async (reason, url) => {
    const egress = createEgress({ allow: [], resolve: resolveTo('1.1.1.1') });
    asked = [];
    expect(await refusal(egress, url)).toBe(reason);
    expect(asked).toEqual([]);
    await egress.close();
  });

  it('with a backslash, which a URL parser takes for a slash', async () => {
    const egress = createEgress({ allow: [], resolve: resolveTo('1.1.1.1') });
    expect(await refusal(egress, `https://127.0.0.1:${server.port}\\@name.example/`)).toBe('address');
    expect(server.connections()).toBe(0);
    await egress.close();
  });
});
