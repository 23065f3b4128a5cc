import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { rawRequest } from '@svault/test-kit/raw-http';
import { type Operation, operationsOf } from '../support/api-operations.ts';
import { type Answer, BASE_URL, type Call, clientOf } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';

/*
 * R10 and cross-site request forgery: an owner is signed in, and a page of another site, or a name of another site
 * that leads to this machine, tries to act with the owner's cookie. Every state-changing route is tried, from the
 * service's own OpenAPI document.
 */

const service = useService();
let cookie: string;
let operations: readonly Operation[];
/** With the owner's cookie, as a browser sends it along; the page is the caller's choice. */
let browser: Call;

beforeAll(async () => {
  operations = await operationsOf(service.anyone);
  const token = new URL(service.running.ownerLink ?? '').searchParams.get('token');
  const signIn = await service.anyone('POST', '/api/login/link', { body: { token } });
  cookie = signIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  browser = clientOf(service.running.url, { cookie });
  expect((await browser('GET', '/api/me')).status).toBe(200);
});

const changing = () => operations.filter(({ method, isPublic }) => method !== 'GET' && !isPublic);

/** What browsers, and what pages that try, put into a request from elsewhere. */
const FOREIGN: readonly Record<string, string>[] = [
  {},
  { origin: 'null' },
  { origin: 'null', 'sec-fetch-site': 'cross-site' },
  { origin: 'null', 'sec-fetch-site': 'same-site' },
  { origin: 'null', 'sec-fetch-site': 'none' },
  { origin: 'https://evil.example' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  { origin: `${BASE_URL}.evil.example` },
  { origin: `${BASE_URL}@evil.example` },
  { origin: `${BASE_URL}/` },
  { origin: `${BASE_URL}, https://evil.example` },
  { origin: `https://evil.example ${BASE_URL}` },
  { origin: BASE_URL.replace('http:', 'https:') },
  { origin: BASE_URL.replace(':8080', '') },
  { origin: BASE_URL.replace(':8080', ':8081') },
  { origin: BASE_URL.replace('127.0.0.1', 'localhost') },
  { origin: BASE_URL.toUpperCase() },
  { referer: `${BASE_URL}/vault/webhook-bind` },
  { 'x-forwarded-host': '127.0.0.1:8080', origin: 'https://evil.example', 'x-original-url': '/api/me' },
];

describe('a page of another site', () => {
  test('changes nothing on any route, whatever it sends for an Origin', async () => {
    expect(changing().length).toBeGreaterThan(15);
    for (const { method, path } of changing())
      for (const headers of FOREIGN) {
        const { status, json } = await browser(method, path, { headers, rawBody: '' });
        expect([method, path, headers, status, json.code]).toEqual([method, path, headers, 403, 'FORBIDDEN']);
      }
    expect((await browser('GET', '/api/vault')).json.lockedAt ?? null).toBeNull();
  });

  test('sends a form, the only body without a preflight, which is rejected before it is read', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
      for (const { method, path } of changing()) {
        const headers = { origin: 'https://evil.example', 'content-type': type };
        expect((await browser(method, path, { headers, rawBody: '{"name":"x"}' })).status).toBe(403);
      }
  });

  test('reads nothing: no response is shared with another origin', async () => {
    for (const { path } of operations.filter(({ method }) => method === 'GET')) {
      const { headers } = await browser('GET', path, { headers: { origin: 'https://evil.example' } });
      expect([path, headers.get('access-control-allow-origin')]).toEqual([path, null]);
      expect([path, headers.get('cross-origin-resource-policy')]).toEqual([path, 'same-origin']);
      expect([path, headers.get('cache-control')]).toEqual([path, 'no-store']);
    }
    for (const { path } of operations.filter(({ method, isPublic }) => method === 'GET' && !isPublic))
      for (const site of ['cross-site', 'same-site']) {
        const { status } = await browser('GET', path, { headers: { 'sec-fetch-site': site } });
        expect([path, site, status]).toEqual([path, site, 403]);
      }
    for (const site of ['same-origin', 'none'])
      expect((await browser('GET', '/api/me', { headers: { 'sec-fetch-site': site } })).status).toBe(200);
    const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    const answer = await browser('OPTIONS', '/api/vault/lock', { headers: preflight });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  });

  test('cannot sign a browser in to the account of an attacker', async () => {
    const open = operations.filter(({ method, isPublic }) => method === 'POST' && isPublic);
    expect(open.map(({ path }) => path)).toContain('/api/login');
    for (const { path } of open)
      for (const headers of FOREIGN.filter(({ origin }) => origin !== undefined)) {
        const { status } = await service.anyone('POST', path, { body: { token: 'x' }, headers });
        expect([path, headers, status]).toEqual([path, headers, 403]);
      }
    for (const path of [
      '/login',
      '/login/link',
      '/login/out',
      '/login/password',
      '/login/cli',
      '/api/mcp-oauth/authorize',
    ])
      for (const headers of FOREIGN) {
        const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
        const answer = await browser('POST', path, { rawBody: 'token=x', headers: form });
        expect([path, headers, answer.status, answer.headers.get('set-cookie')]).toEqual([
          path,
          headers,
          403,
          null,
        ]);
      }
    expect((await browser('GET', '/api/me')).status).toBe(200);
  });
});

describe('the binding page', () => {
  const form = new URLSearchParams({
    code: randomUUID(),
    webhookUrl: 'https://evil.example',
    hmacHash: 'a'.repeat(64),
  }).toString();
  const post = (headers: Readonly<Record<string, string>>): Promise<Answer> =>
    browser('POST', '/vault/webhook-bind', {
      rawBody: form,
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    });

  test('binds nothing for a page of another site', async () => {
    for (const headers of FOREIGN) expect([headers, (await post(headers)).status]).toEqual([headers, 403]);
    expect((await browser('GET', '/api/webhook')).json).toEqual({ bound: false });
  });

  test('cannot be framed, runs no script, and sends no referrer', async () => {
    for (const path of [
      '/vault/webhook-bind',
      '/login',
      '/login/link?token=x',
      '/login/password',
      '/login/cli?request=x',
      '/api/login/oidc',
      '/api/mcp-oauth/authorize?client_id=x',
    ]) {
      const { headers } = await browser('GET', path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('script-src');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  test('binds nothing when it is opened, by any method', async () => {
    const query = new URLSearchParams({
      code: randomUUID(),
      webhook_url: Buffer.from('https://evil.example').toString('base64url'),
      hmac_hash: 'a'.repeat(64),
    }).toString();
    for (const method of ['GET', 'HEAD'])
      expect((await browser(method, `/vault/webhook-bind?${query}`)).status).toBe(303);
    const links = service.admin('GET', '/api/audit?eventType=WEBHOOK_BOUND');
    expect((await links).json.items).toEqual([]);
  });
});

describe('a foreign Host', () => {
  const HOSTS = [
    'evil.example',
    'evil.example:8080',
    'localhost',
    '127.0.0.1.evil.example',
    'evil.example@127.0.0.1',
    '[::1]',
  ];

  const ask = (
    method: string,
    path: string,
    host: string,
    ...lines: string[]
  ): Promise<{ status: number; text: string }> =>
    rawRequest(service.running.url, [
      [`${method} ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...lines, '', ''].join('\r\n'),
    ]);

  test('does not make its origin ours: a DNS name rebound to this machine changes nothing', async () => {
    for (const host of HOSTS)
      for (const { method, path } of changing()) {
        const { status } = await ask(method, path, host, `Origin: http://${host}`, `Cookie: ${cookie}`);
        expect([host, path, status]).toEqual([host, path, 403]);
      }
  });

  test('appears in no link, redirect or document of a response', async () => {
    for (const path of [
      '/vault/webhook-bind?code=x',
      '/login/link?token=x',
      '/login?returnTo=/x',
      '/login/password',
      '/login/cli?request=x',
      '/api/login/oidc',
      '/api/openapi.json',
      '/api/mcp-oauth/authorize?client_id=x&redirect_uri=x',
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource',
      '/nowhere',
      '/api/agents',
      '/api/me',
    ])
      for (const line of ['X-A: b', 'X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example'])
        expect((await ask('GET', path, 'evil.example', line, `Cookie: ${cookie}`)).text).not.toContain(
          'evil.example',
        );
  });
});
