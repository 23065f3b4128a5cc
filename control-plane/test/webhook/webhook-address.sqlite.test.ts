import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, type Server, createServer } from 'node:net';
import { hostname } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import {
  type Answer,
  BASE_URL,
  type ManagementService,
  signInBy,
  startService,
} from '../support/management-service.ts';

/*
 * R9 and R14 for the webhook's address: every way to write an address that this service must not call. A server on
 * this machine counts connections; none may come.
 */

/** Counts connections on loopback, IPv4 and IPv6, at one port, and hangs up on each. */
interface Trap {
  readonly port: number;
  readonly connections: () => number;
  readonly reset: () => void;
  close(): Promise<void>;
}

async function setTrap(): Promise<Trap> {
  let count = 0;
  const listenOn = async (host: string, port: number): Promise<Server> => {
    const server = createServer((socket) => {
      count++;
      socket.destroy();
    });
    server.listen(port, host);
    await once(server, 'listening');
    return server;
  };
  const v4 = await listenOn('127.0.0.1', 0);
  const { port } = v4.address() as AddressInfo;
  // A machine without IPv6 has nothing that could be reached there.
  const v6 = await listenOn('::1', port).catch(() => undefined);
  return {
    port,
    connections: () => count,
    reset: () => void (count = 0),
    close: async () => {
      for (const server of [v4, v6]) {
        server?.close();
        if (server !== undefined) await once(server, 'close');
      }
    },
  };
}

let trap: Trap;
beforeAll(async () => {
  trap = await setTrap();
  // It is a trap: whoever comes is counted.
  await expect(fetch(`http://127.0.0.1:${trap.port}`)).rejects.toThrow();
  expect(trap.connections()).toBe(1);
  trap.reset();
});
afterAll(() => trap.close());
afterEach(() => expect(trap.connections()).toBe(0));

const offer = (webhookUrl: string) => ({ code: randomUUID(), webhookUrl, hmacHash: 'a'.repeat(64) });

/** 127.0.0.1 and its neighbours in every notation; `PORT` is where the trap listens. */
const LOOPBACK = [
  'https://127.0.0.1:PORT',
  'https://127.1:PORT',
  'https://127.0.1:PORT',
  'https://2130706433:PORT',
  'https://0x7f000001:PORT',
  'https://0x7f.0.0.1:PORT',
  'https://0x7f.1:PORT',
  'https://017700000001:PORT',
  'https://0177.0.0.01:PORT',
  'https://127.000.000.001:PORT',
  'https://127.0.0.1.:PORT',
  'https://0:PORT',
  'https://0.0.0.0:PORT',
  'https://%31%32%37.0.0.1:PORT',
  'https://１２７.０.０.１:PORT',
  'https://127。0。0。1:PORT',
  'https://[::1]:PORT',
  'https://[0:0:0:0:0:0:0:1]:PORT',
  'https://[::]:PORT',
  'https://[::127.0.0.1]:PORT',
  'https://[::ffff:127.0.0.1]:PORT',
  'https://[::ffff:7f00:1]:PORT',
  'https://[0:0:0:0:0:ffff:7f00:0001]:PORT',
  'https://[64:ff9b::7f00:1]:PORT',
  'https://[64:ff9b::127.0.0.1]:PORT',
  'https://[64:ff9b:1::7f00:1]:PORT',
  'https://[2002:7f00:1::]:PORT',
  'https://[2001:0:7f00:1::]:PORT',
  'https://[::1%25lo]:PORT',
  'https://localhost:PORT',
  'https://LOCALHOST:PORT',
  'https://ⓛocalhost:PORT',
];

/** Places inside, which no trap of a test can stand at: refused by the same answer, before any connection. */
const INSIDE = [
  'https://169.254.169.254',
  'https://[fd00:ec2::254]',
  'https://[fe80::1]',
  'https://[fec0::1]',
  'https://[ff02::1]',
  'https://10.0.0.1',
  'https://172.16.0.1',
  'https://192.168.1.1',
  'https://3232235777',
  'https://100.64.0.1',
  'https://192.0.0.1',
  'https://198.18.0.1',
  'https://192.0.2.1',
  'https://224.0.0.1',
  'https://240.0.0.1',
  'https://255.255.255.255',
];

const NOT_HTTPS = [
  'http://127.0.0.1:PORT',
  'http://93.184.216.34',
  'ftp://127.0.0.1:PORT',
  'ws://127.0.0.1:PORT',
  'wss://127.0.0.1:PORT',
  'gopher://127.0.0.1:PORT',
  'file:///etc/passwd',
  'data:text/plain,x',
  'javascript:alert(1)',
  'unix:/var/run/docker.sock',
  'blob:https://example.org/x',
  '//127.0.0.1:PORT',
  '127.0.0.1:PORT',
];

/** What looks like another place than the one it leads to. */
const MISLEADING = [
  'https://user@127.0.0.1:PORT',
  'https://user:password@example.org',
  'https://example.org@127.0.0.1:PORT',
  'https://example.org%40127.0.0.1:PORT',
  'https://example.org:443@127.0.0.1:PORT/',
  'https://127.0.0.1:PORT\\@example.org',
  'https://127.0.0.1:PORT#@example.org',
  'https://127.0.0.1:PORT?@example.org',
  'https://example.org/?next=https://127.0.0.1:PORT',
  'https://example.org/../%2e%2e/v1',
  'https://example.org/a b',
  'https://example.org/\r\nHost: evil',
  ' https://127.0.0.1:PORT',
  'https:127.0.0.1:PORT',
  'https:///127.0.0.1:PORT',
  'https://',
  '',
];

const at = (address: string): string => address.replace('PORT', String(trap.port));

describe('without an entry in SV_EGRESS_ALLOW', () => {
  let service: ManagementService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  const bind = (webhookUrl: string): Promise<Answer> =>
    service.admin('POST', '/api/webhook/bind', { body: offer(webhookUrl) });

  test.each([...LOOPBACK, ...INSIDE, ...NOT_HTTPS, ...MISLEADING])(
    'the webhook address %j is rejected',
    async (address) => {
      const { status, json } = await bind(at(address));
      expect([status, json.code, json.issues[0].path]).toEqual([422, 'INVALID_ARGUMENT', 'webhookUrl']);
      expect((await service.admin('GET', '/api/webhook')).json).toEqual({ bound: false });
    },
  );

  test.each(['localhost.', 'ip6-localhost', 'localhost.localdomain', hostname()])(
    'the name %s is refused where it resolves to this machine',
    async (name) => {
      // 503 where it does not resolve at all.
      expect((await bind(`https://${name}:${trap.port}`)).status).toBeOneOf([422, 503]);
    },
  );

  test('the bind page rejects the same addresses as the API', async () => {
    const owner = await signInBy(service, service.running.ownerLink ?? '');
    for (const address of LOOPBACK) {
      const rawBody = new URLSearchParams(offer(at(address))).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const { status } = await owner('POST', '/vault/webhook-bind', { rawBody, headers });
      expect([address, [400, 422].includes(status)]).toEqual([address, true]);
    }
  });
});

describe('with an entry in SV_EGRESS_ALLOW', () => {
  let service: LinkedService;
  beforeAll(async () => {
    service = await startLinkedService();
  });
  afterAll(() => service.stop());

  test('only the named addresses are called: loopback by IPv4, not by IPv6', async () => {
    for (const address of [
      'https://[::1]:PORT',
      'http://[::1]:PORT',
      'http://10.0.0.1',
      'https://[64:ff9b::7f00:1]:PORT',
    ]) {
      const { status } = await service.admin('POST', '/api/webhook/bind', { body: offer(at(address)) });
      expect([address, status]).toEqual([address, 422]);
    }
  });

  test.each([301, 302, 303, 307, 308])(
    'a %i of the webhook is not followed, when binding and later',
    async (status) => {
      const { webhook, admin } = service;
      const location = `http://127.0.0.1:${trap.port}/v1/exchange`;
      const redirect = { status, body: '', headers: { location, refresh: `0; url=${location}` } };
      webhook.fault = () => redirect;
      expect((await service.bind()).json.code).toBe('WEBHOOK_REFUSED');
      webhook.fault = undefined;
      expect((await service.bind()).status).toBe(201);
      webhook.fault = () => redirect;
      expect((await admin('GET', '/api/webhook')).json.reachable).toBe(false);
      expect((await admin('POST', '/api/webhook/rotate-secret')).json.code).toBe('WEBHOOK_REFUSED');
      await admin('POST', '/api/tokens', { body: { serviceName: `t-${status}`, tokenType: 'PlainText' } });
      expect((await admin('GET', `/api/tokens/t-${status}`)).json.webhook).toBeUndefined();
      webhook.fault = undefined;
      expect((await admin('DELETE', '/api/webhook')).status).toBe(204);
    },
  );

  test('the proxy settings of the environment are not used', async () => {
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'])
      vi.stubEnv(name, `http://127.0.0.1:${trap.port}`);
    expect((await service.bind()).status).toBe(201);
    expect((await service.admin('DELETE', '/api/webhook')).status).toBe(204);
    vi.unstubAllEnvs();
  });

  test('an agent is redirected to the bound origin only, whatever the request says', async () => {
    expect((await service.bind()).status).toBe(201);
    const names = ['@evil.example', '\\evil.example', '?ticket=x&y', '#x', 'http:evil.example'];
    const { apiKey } = await service.agent(...names);
    const client = { 'x-agent-key': apiKey };
    for (const name of names)
      for (const lie of [{}, { 'x-forwarded-host': 'evil.example' }, { forwarded: 'host=evil.example' }]) {
        const path = `/api/agents/credentials?service=${encodeURIComponent(name)}`;
        const answer = await service.anyone('GET', path, { headers: { ...client, ...lie } });
        const location = new URL(answer.headers.get('location') ?? '');
        expect(location.href).toMatch(
          new RegExp(`^${service.webhook.url}/v1/credential\\?ticket=[\\w-]+\\.[\\w-]+\\.[\\w-]+$`),
        );
      }
  });
});

test('the bind page escapes an address', async () => {
  const service = await startService();
  const owner = await signInBy(service, service.running.ownerLink ?? '');
  const hostile = `https://example.org/"><script>alert(1)</script>`;
  const query = new URLSearchParams({
    code: randomUUID(),
    webhook_url: Buffer.from(hostile).toString('base64url'),
    hmac_hash: 'a'.repeat(64),
  });
  const taken = await owner('GET', `/vault/webhook-bind?${query.toString()}`);
  expect([taken.status, taken.headers.get('location')]).toEqual([303, '/vault/webhook-bind']);
  const cookie = taken.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect(cookie).toBe('svault-bind=');
  const shown = await owner('GET', '/vault/webhook-bind', { headers: { origin: BASE_URL } });
  expect(shown.text).not.toContain('<script>');
  await service.stop();
});
