/** Both clients at servers with TLS, and through the proxy that a company has in front of its machines. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempDir } from '@svault/test-kit/temp-dir';
import {
  type InstalledClient,
  NODE_CLIENT,
  PACKED_CLIENTS,
  PYTHON_CLIENT,
} from './support/packed-clients.ts';

const SVAULT_KEY = `svagent_${'k'.repeat(43)}`;
const GET = { call: 'get', service: 'github' } as const;

const folder = tempDir();
const certificateFile = join(folder.path, 'certificate.pem');
const asked: string[] = [];
const stop: (() => void)[] = [];
let url: string;

/** A control plane and a webhook with a certificate of their own. */
const answer = (req: IncomingMessage, res: ServerResponse): void => {
  asked.push(req.url ?? '');
  const delivered = {
    accessToken: 'a',
    serviceName: 'github',
    tokenType: 'PlainText',
    createdAt: '2026-01-01T00:00:00Z',
  };
  const ticket = { url: `${url}/v1/credential?ticket=t`, method: 'GET', expiresAt: '2026-01-01T00:00:00Z' };
  const body = req.url?.startsWith('/v1/') === true ? { token: delivered } : ticket;
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

beforeAll(async () => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  });
  writeFileSync(certificateFile, cert);
  const server = createTlsServer({ key, cert }, answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stop.push(() => server.close().closeAllConnections());
  url = `https://localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  for (const each of stop) each();
  folder.remove();
});

/** Tunnels to any address of this machine. */
async function startTunnel() {
  const targets: (readonly [string | undefined, string | undefined])[] = [];
  const passed: Buffer[] = [];
  const tunnel = createServer().listen(0, '127.0.0.1');
  tunnel.on('connect', (req: IncomingMessage, client: Socket) => {
    targets.push([req.url, req.headers['proxy-authorization']]);
    const upstream = connect(Number(new URL(`http://${req.url}`).port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.on('data', (chunk: Buffer) => void passed.push(chunk)).pipe(upstream);
      upstream.pipe(client);
    });
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  await once(tunnel, 'listening');
  stop.push(() => tunnel.close().closeAllConnections());
  return { port: (tunnel.address() as AddressInfo).port, targets, passed };
}

const TRUST = new Map([
  [NODE_CLIENT, 'NODE_EXTRA_CA_CERTS'],
  [PYTHON_CLIENT, 'SSL_CERT_FILE'],
]);

describe.each(PACKED_CLIENTS)('$name', (client) => {
  const missing = !client.isInstalled;
  const project = tempDir();
  let drive: InstalledClient['drive'];
  beforeAll(async () => {
    if (!missing) ({ drive } = await client.install(project.path));
  });
  afterAll(() => project.remove());
  const trusting = { SVAULT_KEY, [TRUST.get(client) ?? '']: certificateFile };

  test.skipIf(missing)('sends nothing to a server whose certificate does not verify', async () => {
    const before = asked.length;
    const [strange] = await drive({ SVAULT_KEY, SVAULT_BASE_URL: url }, [GET]);
    const elsewhere = url.replace('localhost', '127.0.0.1');
    const [named] = await drive({ ...trusting, SVAULT_BASE_URL: elsewhere }, [GET]);
    expect([strange?.error?.name, named?.error?.name]).toEqual(['ConnectionFailed', 'ConnectionFailed']);
    expect(asked.slice(before)).toEqual([]);
  });

  test.skipIf(missing)('trusts an authority that its environment names', async () => {
    const [outcome] = await drive({ ...trusting, SVAULT_BASE_URL: url }, [GET]);
    expect(outcome?.result?.accessToken).toBe('a');
  });
});

test.skipIf(!PYTHON_CLIENT.isInstalled)(
  'the client for Python goes through HTTPS_PROXY, which sees no key, except where NO_PROXY names the host',
  async () => {
    const project = tempDir();
    const { drive } = await PYTHON_CLIENT.install(project.path);
    const tunnel = await startTunnel();
    const env = {
      SVAULT_KEY,
      SVAULT_BASE_URL: url,
      SSL_CERT_FILE: certificateFile,
      HTTPS_PROXY: `http://user:p%40ss@127.0.0.1:${tunnel.port}`,
    };
    const [through] = await drive({ ...env, NO_PROXY: '' }, [GET]);
    const [past] = await drive({ ...env, NO_PROXY: 'localhost' }, [GET]);
    project.remove();
    expect([through?.result?.accessToken, past?.result?.accessToken]).toEqual(['a', 'a']);
    const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(tunnel.targets).toEqual(Array(2).fill([new URL(url).host, basic]));
    expect(Buffer.concat(tunnel.passed).includes(SVAULT_KEY)).toBe(false);
  },
);
