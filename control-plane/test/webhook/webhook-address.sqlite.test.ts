import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, type Server, createServer } from 'node:net';
import { hostname } from 'node:os';
import { VERSION } from '@svault/server-kit/version';
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

/**
 * One of each class; every notation is in shared/test/egress-refusals.test.ts, every range in address-verdict.test.ts, every
 * malformed address in shared/src/signing/webhook-address.test.ts. `PORT` is where the trap listens.
 */
const REJECTED = [
  'https://127.0.0.1:PORT',
  'https://2130706433:PORT',
  'https://0x7f.1:PORT',
  'https://127.0.0.1.:PORT',
  'https://１２７.０.０.１:PORT',
  'https://[::1]:PORT',
  'https://[::ffff:127.0.0.1]:PORT',
  'https://[64:ff9b::7f00:1]:PORT',
  'https://localhost:PORT',
  'https://169.254.169.254',
  'https://10.0.0.1',
  'https://[fe80::1]',
  'http://127.0.0.1:PORT',
  'http://93.184.216.34',
  'ftp://127.0.0.1:PORT',
  'file:///etc/passwd',
  'javascript:alert(1)',
  '//127.0.0.1:PORT',
  'https://example.org@127.0.0.1:PORT',
  'https://127.0.0.1:PORT#@example.org',
  'https://127.0.0.1:PORT?@example.org',
  'https://example.org/../%2e%2e/v1',
  'https://example.org/\r\nHost: evil',
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

  test.each(REJECTED)('the webhook address %j is rejected', async (address) => {
    const { status, json } = await bind(at(address));
    expect([status, json.code, json.issues[0].path]).toEqual([422, 'INVALID_ARGUMENT', 'webhookUrl']);
    expect((await service.admin('GET', '/api/webhook')).json).toEqual({
      bound: false,
      controlPlaneVersion: VERSION,
    });
  });

  test.each(['localhost.', 'ip6-localhost', 'localhost.localdomain', hostname()])(
    'the name %s is refused where it resolves to this machine',
    async (name) => {
      // 503 where it does not resolve at all.
      expect((await bind(`https://${name}:${trap.port}`)).status).toBeOneOf([422, 503]);
    },
  );

  test('the bind page rejects the same addresses as the API', async () => {
    const owner = await signInBy(service, service.running.ownerLink ?? '');
    for (const address of REJECTED.slice(0, 9)) {
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
