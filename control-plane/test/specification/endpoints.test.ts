import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { fieldsOf } from '../support/browser.ts';
import { type Answer, clientOf } from '../support/management-service.ts';
import { MCP } from '../support/mcp-steps.ts';
import { postOauth } from '../support/oauth-client.ts';
import { PAIR_BASE_URL, sessionOn } from '../support/pair-sessions.ts';
import { type Fixture, startFixture, test } from './fixture.ts';
import { spec } from '@svault/test-kit/spec';

const CODE_LIFETIME_MS = 5 * 60_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Path and query of a link that the webhook's own page gave. */
async function registrationPath({ pair }: Fixture): Promise<string> {
  const link = await registrationLinkByPage(pair.bypassingRecorder(pair.webhookUrl), pair.setupToken);
  return link.slice(PAIR_BASE_URL.length);
}

/** The owner's browser, as far as cookies go. */
async function browserOf({ pair, admin, anyone }: Fixture) {
  const body = { email: 'admin@example.org', role: 'admin' };
  const { link } = (await admin('POST', '/api/members', { body })).json as { link: { url: string } };
  const cookieIn = ({ headers }: Answer): string => headers.get('set-cookie')?.split(';')[0] ?? '';
  const token = new URL(link.url).searchParams.get('token');
  const session = cookieIn(await anyone('POST', '/api/login/link', { body: { token } }));
  const as = (...cookies: string[]) => clientOf(pair.controlPlaneUrl(), { cookie: cookies.join('; ') });
  return {
    /** Follows a link. @returns the page that it leads to */
    open: async (path: string): Promise<Answer> => {
      const led = await as(session)('GET', path);
      expect(led.status).toBe(303);
      return as(session, cookieIn(led))('GET', led.headers.get('location') ?? '');
    },
    /** Sends the page's form. */
    confirm: (path: string, { text }: Answer): Promise<Answer> =>
      as(session)('POST', path, {
        rawBody: new URLSearchParams(fieldsOf(text)).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: PAIR_BASE_URL },
      }),
  };
}

test(
  'POST /api/mcp-oauth/revoke revokes an OAuth session at once',
  spec('POST | /api/mcp-oauth/revoke | Revoke an OAuth session immediately.'),
  async ({ fixture }) => {
    const { pair, admin, anyone } = fixture;
    const { agent } = (await admin('POST', '/api/agents', { body: { name: 'a', mcpEnabled: true } })).json;
    const { accessToken } = await sessionOn(pair, agent.id);
    const list = (): Promise<Answer> =>
      anyone('POST', MCP, {
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        headers: { authorization: `Bearer ${accessToken}` },
      });
    expect((await list()).status).toBe(200);
    expect('/api/mcp-oauth/revoke').toBe('/api/mcp-oauth/revoke');
    expect((await postOauth({ anyone }, 'revoke', { token: accessToken })).status).toBe(200);
    expect((await list()).status).toBe(401);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await anyone(method, '/api/mcp-oauth/revoke')).headers.get('allow')).toBe('POST');
  },
);

test(
  'GET /.well-known/oauth-protected-resource is what the 401 challenge of the MCP endpoint names',
  spec(
    'GET | /.well-known/oauth-protected-resource | Protected-resource metadata used in the 401 discovery challenge.',
  ),
  async ({ fixture }) => {
    const { anyone } = fixture;
    const challenge = (await anyone('POST', MCP)).headers.get('www-authenticate');
    // The form with the resource's path (RFC 9728 section 3.1); the other one says the same.
    expect(challenge).toBe(
      `Bearer resource_metadata="${PAIR_BASE_URL}${'/.well-known/oauth-protected-resource'}${MCP}"`,
    );
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource' + MCP,
    ]) {
      const { status, json } = await anyone('GET', path);
      expect([status, json.resource, json.authorization_servers]).toEqual([
        200,
        PAIR_BASE_URL + MCP,
        [PAIR_BASE_URL],
      ]);
    }
  },
);

test(
  'GET /vault/webhook-bind binds by a link whose code is used once, within 5 minutes',
  spec(
    "GET (browser) | /vault/webhook-bind | Bind page. URL parameters: code (one-time UUID, 5-minute lifetime), webhook_url (base64-encoded), hmac_hash (SHA-256 hash of the webhook's HMAC secret).",
  ),
  async () => {
    const fixture = await startFixture({ bound: false });
    try {
      const { pair } = fixture;
      const browser = await browserOf(fixture);
      const [late, path] = [await registrationPath(fixture), await registrationPath(fixture)];
      const { pathname, searchParams } = new URL(path, PAIR_BASE_URL);
      expect([pathname, [...searchParams.keys()].toSorted()]).toEqual([
        '/vault/webhook-bind',
        ['code', 'hmac_hash', 'webhook_url'],
      ]);
      expect(searchParams.get('code')).toMatch(UUID);
      const webhookUrl = Buffer.from(searchParams.get('webhook_url') ?? '', 'base64').toString();
      expect(webhookUrl).toBe(pair.webhookUrl);
      const page = await browser.open(path);
      expect([page.status, page.text.includes(webhookUrl)]).toEqual([200, true]);
      expect((await browser.confirm('/vault/webhook-bind', page)).status).toBe(303);
      expect((await fixture.admin('GET', '/api/webhook')).json.bound).toBe(true);
      // Of the secret that the exchange brought, as the wiretap saw it.
      const [, secret = ''] = /"hmacSecret":"([\w-]{43})"/.exec(pair.recorded().toString('latin1')) ?? [];
      const hash = createHash('sha256').update(Buffer.from(secret, 'base64url')).digest('hex');
      expect(searchParams.get('hmac_hash')).toBe(hash);
      // One-time, and for five minutes.
      await fixture.admin('DELETE', '/api/webhook');
      for (const waitMs of [0, CODE_LIFETIME_MS + 1_000]) {
        const again = await browser.open(waitMs === 0 ? path : late);
        fixture.wait(waitMs);
        expect((await browser.confirm('/vault/webhook-bind', again)).status).not.toBe(303);
        expect((await fixture.admin('GET', '/api/webhook')).json.bound).toBe(false);
      }
    } finally {
      await fixture.close();
    }
  },
);

test(
  'the OAuth endpoints are where the server metadata says',
  spec(
    'OAuth registration, authorization, token, revoke and introspect endpoint paths and payloads: not shown. (Those endpoints exist; see Limits.)',
  ),
  async ({ fixture }) => {
    const { anyone } = fixture;
    const server = (await anyone('GET', '/.well-known/oauth-authorization-server')).json as Record<
      string,
      string
    >;
    for (const name of ['registration', 'authorization', 'token', 'revocation', 'introspection']) {
      const { pathname } = new URL(server[`${name}_endpoint`] ?? '');
      const { status } = await anyone(name === 'authorization' ? 'GET' : 'POST', pathname);
      expect([name, status]).toEqual([name, 400]);
    }
  },
);
