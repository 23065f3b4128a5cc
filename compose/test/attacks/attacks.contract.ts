import { describe, expect, test } from 'vitest';
import { randomToken } from '@svault/shared';
import { rawRequest } from '@svault/test-kit/raw-http';
import { type AdminClient, storeCredential } from '../../src/admin-client.ts';

/** A pair that runs, as somebody sees it who is on the same network. */
export interface Target {
  readonly controlPlaneUrl: string;
  readonly webhookUrl: string;
  readonly admin: AdminClient;
  /** Host and port of `hostile-upstream.ts`, as the webhook reaches it. */
  readonly upstreamHost: string;
}

const MIB = 1024 * 1024;
const SIGNATURE_BY_CODE =
  'sv=("@method" "@authority" "@path" "@query" "content-type" "content-digest");created=1;expires=2;nonce="AAECAwQFBgcICQoLDA0ODw";keyid="bind";alg="hmac-sha256";tag="sv-webhook-v1"';

/** Attacks from outside on a bound pair, which must not work wherever the pair runs. */
export function attacksFail(targetOf: () => Target): void {
  describe('a stranger without any key', () => {
    test.each(['/v1/exchange', '/v1/storage', '/v1/store', '/v1/proxy', '/v1/refresh'])(
      'is refused at POST %s before a byte of the announced body is sent',
      async (path) => {
        const { webhookUrl } = targetOf();
        const head = headOf(webhookUrl, path, 4096);
        const { status } = await rawRequest(webhookUrl, [head]);
        expect([401, 413, 429]).toContain(status);
      },
    );

    test('cannot have the control plane parse a large body at the sign-in', async () => {
      const { controlPlaneUrl } = targetOf();
      const { host } = new URL(controlPlaneUrl);
      const head = `POST /api/login/link HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${controlPlaneUrl}\r\nContent-Type: application/json\r\nContent-Length: ${MIB}\r\n\r\n`;
      expect((await rawRequest(controlPlaneUrl, [head])).status).toBe(413);
    });

    test('gets an error from the token endpoint, where a client cannot authenticate', async () => {
      const { controlPlaneUrl } = targetOf();
      const answer = await fetch(`${controlPlaneUrl}/api/mcp-oauth/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('client:secret')}` },
        body: new URLSearchParams({ grant_type: 'authorization_code', code: 'x' }),
      });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
      expect(await answer.json()).toMatchObject({ error: 'invalid_client' });
    });

    test('is led to the metadata of the MCP endpoint by its path', async () => {
      const { controlPlaneUrl } = targetOf();
      const answer = await fetch(`${controlPlaneUrl}/api/agents/mcp`, { method: 'POST' });
      expect(answer.headers.get('www-authenticate')).toContain(
        `resource_metadata="${controlPlaneUrl}/.well-known/oauth-protected-resource/api/agents/mcp"`,
      );
    });
  });

  describe('an agent with a proxy key', () => {
    test('never has a one-time code injected, whose digits a reflected header would tell', async () => {
      const target = targetOf();
      const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
      const call = proxied(target, '/reflect', { tokenType: 'TOTP', value: undefined, secret });
      await expect(call).rejects.toThrow(/allowShortSecret/);
    });

    test('cannot have a credential called by plain http whose owner allowed the bare host', async () => {
      const target = targetOf();
      const answer = await proxied(target, '/reflect', { allowedHosts: [target.upstreamHost] });
      expect(await refusalOf(answer)).toEqual([502, 'DESTINATION_NOT_ALLOWED']);
    });

    test('does not follow an upstream to another origin with the proxy key', async () => {
      const answer = await proxied(targetOf(), '/redirect');
      expect(answer.headers.get('location')).toBeNull();
      expect(await refusalOf(answer)).toEqual([502, 'UPSTREAM_REDIRECT']);
    });

    test('is not sent to sign in elsewhere by an upstream that rejects the credential', async () => {
      const answer = await proxied(targetOf(), '/unauthorized');
      expect(answer.headers.get('www-authenticate')).toBeNull();
      expect(await refusalOf(answer)).toEqual([502, 'UPSTREAM_UNAUTHORIZED']);
    });

    test('gets UPSTREAM_UNSUPPORTED for an upstream whose transport no proxy serves', async () => {
      const answer = await proxied(targetOf(), '/sse', {}, 'GET');
      expect(await refusalOf(answer)).toEqual([502, 'UPSTREAM_UNSUPPORTED']);
    });
  });

  test('an agent can fetch a credential without following a redirect with its key', async () => {
    const { admin, controlPlaneUrl } = targetOf();
    const serviceName = `service-${randomToken()}`;
    const value = `secret-${randomToken()}`;
    await storeCredential(admin, serviceName, { tokenType: 'PlainText', value });
    const { agent, apiKey } = await admin.call<{ agent: { id: string }; apiKey: string }>(
      'POST',
      '/api/agents',
      { name: serviceName },
    );
    await admin.call('POST', `/api/agents/${agent.id}/grants`, { serviceName, expiresInSeconds: 3600 });
    const asked = await fetch(`${controlPlaneUrl}/api/agents/credentials?service=${serviceName}`, {
      headers: { authorization: `Bearer ${apiKey}`, accept: 'application/json' },
      redirect: 'error',
    });
    expect(asked.status).toBe(200);
    const { url, method } = (await asked.json()) as { url: string; method: string };
    const delivered = await fetch(url, { method });
    expect(await delivered.json()).toMatchObject({ token: { accessToken: value } });
  });
}

const headOf = (webhookUrl: string, path: string, length: number): string =>
  [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(webhookUrl).host}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    `Content-Digest: sha-256=:${Buffer.alloc(32).toString('base64')}:`,
    `Signature-Input: ${SIGNATURE_BY_CODE}`,
    `Signature: sv=:${Buffer.alloc(32).toString('base64')}:`,
    '\r\n',
  ].join('\r\n');

/** A call of the hostile upstream through a proxy of a new credential. @throws Error where the webhook does not store it */
async function proxied(
  { admin, controlPlaneUrl, upstreamHost }: Target,
  path: string,
  settings: Readonly<Record<string, unknown>> = {},
  method: 'GET' | 'POST' = 'POST',
): Promise<Response> {
  const serviceName = `service-${randomToken()}`;
  await storeCredential(admin, serviceName, {
    tokenType: 'PlainText',
    value: `secret-${randomToken()}`,
    allowedHosts: [`http://${upstreamHost}`],
    ...settings,
  });
  const upstreamUrl = `http://${upstreamHost}${path}`;
  const { key } = await admin.call<{ key: string }>('POST', '/api/proxies', {
    name: serviceName,
    upstreamUrl,
    serviceName,
  });
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } };
  return fetch(`${controlPlaneUrl}/api/proxy/mcp`, {
    method,
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      ...(method === 'POST' && { 'content-type': 'application/json' }),
    },
    ...(method === 'POST' && { body: JSON.stringify(message) }),
  });
}

async function refusalOf(answer: Response): Promise<readonly [number, string | undefined]> {
  const { code } = (await answer.json()) as { code?: string };
  return [answer.status, code];
}
