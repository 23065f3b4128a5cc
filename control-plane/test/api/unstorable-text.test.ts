import { toBase64url, utf8 } from '@svault/shared';
import { beforeAll, expect, test } from 'vitest';
import { BASE_URL, type Call, clientOf, signInBy } from '../support/management-service.ts';
import { type ToolAnswer, ERAS, mcpAgentOn, mcpClientOf } from '../support/mcp-steps.ts';
import { WIDE_LIMITS } from '../support/oauth-client.ts';
import { useService } from '../support/use-service.ts';

/*
 * PostgreSQL's text has no NUL, and no text has half a surrogate pair: what holds one names nothing and is stored nowhere.
 * Management routes parse paths, queries and bodies in one place: parse-input.test.ts.
 */

const service = useService(WIDE_LIMITS);
let browser: Call;
beforeAll(async () => {
  browser = await signInBy(service, service.running.ownerLink ?? '');
});

test.each([
  ['GET', '/api/agents/agt_AAAAAAAAAAAAAAAAAAAAA%00', undefined, 422],
  ['PATCH', '/api/tokens/a%00b', {}, 422],
  ['POST', '/api/setup/steps/%00', {}, 422],
  ['GET', '/api/audit?serviceName=%00', undefined, 422],
  ...[['\0'], ['a', '\0']].map(
    (key) => ['GET', `/api/agents?cursor=${toBase64url(utf8(JSON.stringify(key)))}`, undefined, 422] as const,
  ),
  ['POST', '/api/agents', { name: 'n', description: 'a\0b' }, 422],
  [
    'POST',
    '/api/policies/pol_AAAAAAAAAAAAAAAAAAAAAA/attachments',
    { targetType: 'token', targetId: 'a\0' },
    422,
  ],
  ['POST', '/api/agents', { name: '\ud800' }, 400],
] as const)('NUL or half a pair in %s %s %j gets %i', async (method, path, body, status) => {
  expect((await service.admin(method, path, { body })).status).toBe(status);
});

test('NUL in what signs somebody in, by header or cookie, is refused', async () => {
  for (const headers of [
    { authorization: 'Bearer svadmin_%00' },
    { authorization: `Bearer svcli_${'%00'.repeat(14)}A` },
    { cookie: 'svault=%00' },
  ])
    expect((await clientOf(service.running.url, headers)('GET', '/api/me')).status).toBe(401);
});

test('NUL in an address or a form of a page gets a page that says so', async () => {
  for (const [path, ...names] of [
    ['/login', 'returnTo'],
    ['/login/link', 'token'],
    ['/login/cli', 'request'],
    ['/vault/webhook-bind', 'code', 'webhook_url', 'hmac_hash'],
    ['/api/login/oidc', 'returnTo'],
    ['/api/login/oidc/callback', 'code', 'state'],
    ['/api/mcp-oauth/authorize', 'client_id', 'redirect_uri', 'state'],
  ] as const) {
    const query = new URLSearchParams(Object.fromEntries(names.map((name) => [name, 'a\0']))).toString();
    expect([path, (await browser('GET', `${path}?${query}`)).status < 500]).toEqual([path, true]);
  }
  for (const [path, fields] of Object.entries({
    '/login': { email: 'a\0@example.org', password: 'b' },
    '/login/link': { token: '\0' },
    '/login/cli': { request: '\0', decision: 'allow' },
    '/login/password': { newPassword: 'a long \0 password', repeated: 'a long \0 password' },
    '/vault/webhook-bind': { code: '\0', webhookUrl: '\0', hmacHash: '\0' },
    '/api/mcp-oauth/authorize': { client_id: 'x', redirect_uri: 'y', agent: '\0', decision: 'allow' },
  })) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: BASE_URL };
    const rawBody = new URLSearchParams(fields).toString();
    expect([path, (await browser('POST', path, { rawBody, headers })).status]).toEqual([path, 400]);
  }
});

test('NUL in the name of a service that an agent asks for makes it no name', async () => {
  const { apiKey } = await mcpAgentOn(service);
  const ask = clientOf(service.running.url, { authorization: `Bearer ${apiKey}` });
  for (const name of ['%00', 'a%00b', '%ED%A0%80', '%C0%80'])
    expect([name, (await ask('GET', `/api/agents/credentials?service=${name}`)).status]).toEqual([
      name,
      expect.toBeOneOf([400, 404]),
    ]);
});

test.each(['a\0b', 'a\udc00b'])('%j in what a tool is given is no name, limit or cursor', async (text) => {
  // JSON has an escape for each of them; half a pair is refused with the whole message.
  const expectRefused = ({ status, content, answer }: ToolAnswer): void => {
    const { error } = answer.json as { error?: { code: number } };
    expect([status, error?.code ?? content.code]).toEqual(
      error === undefined ? [200, 'INVALID_ARGUMENT'] : [400, -32_600],
    );
  };
  const { apiKey } = await mcpAgentOn(service, 'github');
  const client = mcpClientOf(service, apiKey);
  for (const era of ERAS) {
    for (const tool of ['get_credential', 'show_credential', 'credential_history'])
      expectRefused(await client.call(era, tool, { service: text }));
    for (const argument of ['limit', 'cursor'])
      expectRefused(await client.call(era, 'credential_history', { service: 'github', [argument]: text }));
    expect((await client.request(era, 'tools/list', { cursor: text })).status).toBeLessThan(500);
  }
  // A tool's name is in a header too in the other era, which takes no such text.
  expect((await client.call2025(text, {})).answer.json.error.code).toBeOneOf([-32_600, -32_602]);
});

test('NUL in a registration is refused or left out; in a form of OAuth: token.test.ts', async () => {
  const text = 'a\0b';
  for (const [name, value] of Object.entries({
    client_name: text,
    client_uri: text,
    redirect_uris: [`http://127.0.0.1/${text}`],
    scope: text,
    grant_types: [text],
  })) {
    const body = { redirect_uris: ['http://127.0.0.1/callback'], client_name: 'n', [name]: value };
    const { status, text: said } = await service.anyone('POST', '/api/mcp-oauth/register', { body });
    expect([name, status]).toEqual([name, expect.toBeOneOf([201, 400])]);
    if (status === 201) expect(said).not.toContain(JSON.stringify(text).slice(1, -1));
  }
});
