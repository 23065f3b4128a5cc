import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { rawRequest } from '@svault/test-kit/raw-http';
import { type Operation, operationsOf } from '../support/api-operations.ts';
import { cookieBy } from '../support/consent-page.ts';
import { BASE_URL, type Call, clientOf } from '../support/management-service.ts';
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
  cookie = await cookieBy(service, service.running.ownerLink ?? '');
  browser = clientOf(service.running.url, { cookie });
  expect((await browser('GET', '/api/me')).status).toBe(200);
});

const changing = () => operations.filter(({ method, isPublic }) => method !== 'GET' && !isPublic);

/** What a page elsewhere may send; which origin is ours: origin-check.test.ts. */
const FOREIGN: readonly Record<string, string>[] = [
  {},
  { origin: 'null', 'sec-fetch-site': 'cross-site' },
  { origin: BASE_URL.replace('127.0.0.1', 'localhost') },
  { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin', 'x-forwarded-host': '127.0.0.1:8080' },
];
const FORM = 'application/x-www-form-urlencoded';

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
    const headers = { origin: 'https://evil.example', 'content-type': FORM };
    for (const { method, path } of changing())
      expect((await browser(method, path, { headers, rawBody: '{"name":"x"}' })).status).toBe(403);
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
    const pages = ['/login', '/login/link', '/login/out', '/login/password', '/login/cli'];
    for (const path of [...pages, '/api/mcp-oauth/authorize'])
      for (const headers of FOREIGN) {
        const form = { rawBody: 'token=x', headers: { ...headers, 'content-type': FORM } };
        const answer = await browser('POST', path, form);
        expect([path, answer.status, answer.headers.get('set-cookie')]).toEqual([path, 403, null]);
      }
    expect((await browser('GET', '/api/me')).status).toBe(200);
  });
});

describe('the binding page', () => {
  test('binds nothing for a page of another site', async () => {
    const fields = { code: randomUUID(), webhookUrl: 'https://evil.example', hmacHash: 'a'.repeat(64) };
    const rawBody = new URLSearchParams(fields).toString();
    for (const origin of FOREIGN) {
      const form = { rawBody, headers: { ...origin, 'content-type': FORM } };
      expect([origin, (await browser('POST', '/vault/webhook-bind', form)).status]).toEqual([origin, 403]);
    }
    expect((await browser('GET', '/api/webhook')).json).toMatchObject({ bound: false });
  });

  test('cannot be framed, runs no script but its own, and sends no referrer', async () => {
    for (const path of [
      ...['/vault/webhook-bind', '/login', '/login/link?token=x', '/login/password', '/login/cli?request=x'],
      ...['/api/login/oidc', '/api/mcp-oauth/authorize?client_id=x'],
    ]) {
      const { headers } = await browser('GET', path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy.replace(/;script-src 'sha256-[\w+/]{43}='$/, '')).not.toContain('script-src');
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
    'evil.example:8080',
    'localhost',
    '127.0.0.1.evil.example',
    'evil.example@127.0.0.1',
    '[::1]',
  ];

  const ask = (method: string, path: string, host: string, ...lines: readonly string[]) =>
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
      ...['/vault/webhook-bind?code=x', '/login/link?token=x', '/login?returnTo=/x', '/login/password'],
      ...[
        '/login/cli?request=x',
        '/api/login/oidc',
        '/api/openapi.json',
        '/nowhere',
        '/api/agents',
        '/api/me',
      ],
      ...['/.well-known/oauth-authorization-server', '/.well-known/oauth-protected-resource'],
      '/api/mcp-oauth/authorize?client_id=x&redirect_uri=x',
    ])
      for (const line of ['X-A: b', 'X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example'])
        expect((await ask('GET', path, 'evil.example', line, `Cookie: ${cookie}`)).text).not.toContain(
          'evil.example',
        );
  });
});
