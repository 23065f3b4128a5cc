import { rawRequest } from '@svault/test-kit/raw-http';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { LIMIT_SETTINGS } from '../../src/config/limit-settings.ts';
import { type Operation, operationsOf } from '../support/api-operations.ts';
import { mcpAgentOn } from '../support/mcp-steps.ts';
import { CREDENTIALS } from '../support/service-steps.ts';
import { useService } from '../support/use-service.ts';

// What no honest client sends. How a body is read: server-kit/src/listener.test.ts and shared/src/json.test.ts.

const service = useService(
  Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, '1000000000'])),
);
let agent: { readonly id: string; readonly apiKey: string };
beforeAll(async () => {
  agent = await mcpAgentOn(service);
});

const post = (rawBody: string | Uint8Array, headers: Record<string, string>) =>
  service.admin('POST', '/api/agents', {
    rawBody,
    headers: { 'content-type': 'application/json', ...headers },
  });

test.each<readonly [string, string | Uint8Array, Record<string, string>, string]>([
  ['text', 'name=builder', {}, '400 INVALID_REQUEST'],
  ['an array', '[{"name":"builder"}]', {}, '400 INVALID_REQUEST'],
  ['a name twice', '{"name":"a","name":"b"}', {}, '400 INVALID_REQUEST'],
  ['__proto__', '{"name":"a","__proto__":{"x":1}}', {}, '400 INVALID_REQUEST'],
  ['10,000 levels', `{"name":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, {}, '400 INVALID_REQUEST'],
  ['no UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d), {}, '400 INVALID_REQUEST'],
  ['a content coding', '{}', { 'content-encoding': 'gzip' }, '400 INVALID_REQUEST'],
  ['300,000 bytes', JSON.stringify({ name: 'x'.repeat(300_000) }), {}, '413 TOO_LARGE'],
  ['another type', '{"name":"a"}', { 'content-type': 'text/plain' }, '415 UNSUPPORTED_MEDIA_TYPE'],
])('a body with %s is rejected', async (_what, body, headers, expected) => {
  const { status, json } = await post(body, headers);
  expect(`${status} ${json.code}`).toBe(expected);
});

test('application/json is accepted with any parameters', async () => {
  const answer = await post('{"name":"builder"}', { 'content-type': 'Application/JSON; charset=utf-8' });
  expect(answer.status).toBe(201);
});

describe('422 INVALID_ARGUMENT names each member that does not fit', () => {
  test.each<readonly [string, object, readonly string[]]>([
    ['agents', {}, ['name']],
    ['agents', { name: 'a\u0000b' }, ['name']],
    ['agents', { name: ' a' }, ['name']],
    ['agents', { name: 'x'.repeat(101) }, ['name']],
    ['agents', { name: 7, mcpEnabled: 'yes', a: 1, b: 2 }, ['name', 'mcpEnabled', 'a', 'b']],
    ['agents', { name: 'a', constructor: { role: 'admin' } }, ['constructor']],
    ['agents/ID/suspend', { reason: 'a route without a body' }, ['reason']],
    ['agents/ID/grants', { serviceName: 'a/b' }, ['serviceName']],
    [
      'tokens',
      { serviceName: '..', tokenType: 'PlainText', tags: ['fine', 'not\u0007fine'] },
      ['serviceName', 'tags.1'],
    ],
    ...['value', 'secret', 'accessToken', 'refreshToken', 'privateKey', 'clientSecret', 'password'].map(
      (member) => ['tokens', { serviceName: 'a', tokenType: 'PlainText', [member]: 'x' }, [member]] as const,
    ),
  ])('POST /api/%s with %j', async (path, body, paths) => {
    const answer = await service.admin('POST', `/api/${path.replace('ID', agent.id)}`, { body });
    expect([answer.status, answer.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
    const named = answer.json.issues.map(({ path: place }: { path: string }) => place);
    expect(named.toSorted()).toEqual(paths.toSorted());
  });

  test.each([
    ...['limit=0', 'limit=101', 'limit=1e1', 'limit=1&limit=2', 'limit[]=1', 'limit=__proto__'],
    ...['cursor=%00', 'cursor=e30', 'what=1', '__proto__=1', '__proto__[role]=admin', 'constructor=1'],
  ])('the query %s', async (query) => {
    const answer = await service.admin('GET', `/api/agents?${query}`);
    expect([answer.status, answer.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
  });

  test('a limit of a page is named once, and a cursor of another list is none', async () => {
    for (const limit of ['0', '5000', 'ten'])
      expect((await service.admin('GET', `/api/agents?limit=${limit}`)).json.issues).toEqual([
        { path: 'limit', message: 'must be a whole number from 1 to 100' },
      ]);
    await service.admin('POST', '/api/agents', { body: { name: 'b' } });
    const { nextCursor } = (await service.admin('GET', '/api/agents?limit=1')).json;
    const answer = await service.admin('GET', `/api/tokens?cursor=${nextCursor}`);
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, 'cursor']);
  });
});

describe('what no operation of the OpenAPI document lets through', () => {
  let operations: readonly Operation[];
  beforeAll(async () => {
    operations = await operationsOf(service.anyone);
  });
  const issuesOf = async ({ method, takesBody }: Operation, path: string) => {
    const { status, json } = await service.admin(method, path, takesBody ? { body: {} } : {});
    return [status, (json as { issues?: { path: string }[] }).issues?.map((issue) => issue.path)];
  };

  test('a query parameter that it does not name', async () => {
    const answers: unknown[] = [];
    for (const operation of operations)
      answers.push([operation.template, await issuesOf(operation, `${operation.path}?servcie=github`)]);
    expect(operations.length).toBeGreaterThan(60);
    expect(answers).toEqual(operations.map(({ template }) => [template, [422, ['servcie']]]));
  });

  test.each(['x', 'agt_short', 'zzz_AAAAAAAAAAAAAAAAAAAAAA', `agt_${'A'.repeat(23)}`, '..%2Fvault', '%00'])(
    'the malformed id %s',
    async (id) => {
      const withId = operations.filter(({ template }) => template.includes('{id}'));
      const answers: unknown[] = [];
      for (const operation of withId)
        answers.push([
          operation.template,
          await issuesOf(operation, operation.path.replace(/\w{3}_A{22}/, id)),
        ]);
      expect(withId.length).toBeGreaterThan(20);
      expect(answers).toEqual(withId.map(({ template }) => [template, [422, ['id']]]));
    },
  );
});

test('OAuth endpoints, pages and the sign-in callback ignore parameters that they do not know (RFC 6749, 3.1)', async () => {
  const asked = async (path: string) => {
    const { status, text } = await service.anyone('GET', path);
    return [status, text.replaceAll(/nonce="[^"]*"|unknown=1/g, '')];
  };
  for (const path of [
    '/api/mcp-oauth/authorize?client_id=x',
    '/api/login/oidc/callback?state=x',
    '/login?returnTo=%2F',
    '/login/link?token=x',
    '/.well-known/oauth-authorization-server?a=1',
  ])
    expect(await asked(`${path}&unknown=1`)).toEqual(await asked(path));
});

test('405 lists the methods of the path in Allow', async () => {
  const answer = await service.admin('PUT', '/api/agents');
  expect([answer.status, answer.json.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
  expect(answer.headers.get('allow')).toBe('POST, GET, HEAD');
  expect((await service.admin('OPTIONS', '/api/vault/lock')).headers.get('allow')).toBe('POST');
});

test.each(['/api', '/api/', '/api/agent', '/api/agents/', '/API/agents', '/nothing'])(
  'GET %s is 404',
  async (path) => {
    const answer = await service.admin('GET', path);
    expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);
  },
);

describe('a request written by hand', () => {
  const send = (...lines: readonly string[]) =>
    rawRequest(service.running.url, [[...lines, '', ''].join('\r\n')]);
  const POST = ['POST /api/agents HTTP/1.1', 'Host: x'];
  const CHUNKED = 'Transfer-Encoding: chunked';
  const asAdmin = () => `Authorization: Bearer ${service.place.adminKey}`;

  test.each([
    ['Transfer-Encoding and Content-Length', [CHUNKED, 'Content-Length: 5', '', '0', '']],
    ['two lengths', ['Content-Length: 5', 'Content-Length: 6', '', 'hello']],
    ['a length in hexadecimal', ['Content-Length: 0x10']],
    ['a coding after chunked', ['Transfer-Encoding: chunked, identity', '', '0', '']],
    ['a space before the colon', ['Transfer-Encoding : chunked', '', '0', '']],
    ['a folded header', ['X-A: b', ' Transfer-Encoding: chunked']],
    ['a bare CR in a header', ['X-A: b\rContent-Length: 5']],
    ['a NUL in a header', ['X-A: b\0c']],
    ['a chunk longer than its size', ['Authorization: Bearer x', CHUNKED, '', '1', 'xx', '0', '']],
  ])('with %s gets one answer, and what follows it is not served', async (_what, lines) => {
    const hidden = [`GET ${CREDENTIALS} HTTP/1.1`, 'Host: x', `x-agent-key: ${agent.apiKey}`];
    const { status, text } = await send(...POST, ...lines, '', ...hidden);
    expect(status).toBeOneOf([400, 401]);
    expect(text.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(text).not.toContain('grants');
  });

  test('for a target that is no path of ours leads nowhere', async () => {
    for (const target of [
      ...['http://evil.example/api/agents/credentials', '//evil.example/api/agents', '/api/../api/agents'],
      ...['/api/agents%2fcredentials', '/api\\agents', '*', '/%00', '/%', `/${'a/'.repeat(4_000)}`],
    ]) {
      const { status, text } = await send(`GET ${target} HTTP/1.1`, 'Host: x');
      expect([target, status]).toEqual([target, expect.toBeOneOf([400, 401, 404])]);
      expect(text).not.toMatch(/^location:/im);
    }
  });

  test('with a transfer coding besides chunked is not unpacked', async () => {
    const head = [...POST, asAdmin(), 'Content-Type: application/json', 'Transfer-Encoding: gzip, chunked'];
    expect((await send(...head, '', '2', '{}', '0')).text).toContain('"issues":[{"path":"name"');
  });

  test('for a tunnel gets none', async () => {
    expect((await send('CONNECT 127.0.0.1:22 HTTP/1.1', 'Host: x')).text).not.toMatch(/^HTTP\/1\.1 2/);
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: eA=='];
    expect((await send('GET /api/agents HTTP/1.1', 'Host: x', asAdmin(), ...upgrade)).status).not.toBe(101);
  });

  test('with two keys, or two session cookies, is nobody’s, in whatever order and spelling', async () => {
    const key = `Bearer ${agent.apiKey}`;
    for (const [target, status, lines] of [
      [`GET ${CREDENTIALS}`, 403, [`Authorization: ${key}`, 'authorization: Bearer svagent_x']],
      [`GET ${CREDENTIALS}`, 403, ['Authorization: Basic eDp5', `Authorization: ${key}`]],
      [`GET ${CREDENTIALS}`, 403, [`x-agent-key: ${agent.apiKey}`, `X-Agent-Key: ${agent.apiKey}`]],
      ['POST /api/agents/mcp', 401, ['Authorization: Bearer svsess_x', `authorization: ${key}`]],
      ['POST /api/agents/mcp', 401, ['Authorization: Basic eDp5', `Authorization: ${key}`]],
      ['GET /api/me', 401, [asAdmin(), 'Authorization: Bearer svadmin_x']],
      ['GET /api/me', 401, ['Authorization: Bearer svadmin_x', asAdmin()]],
      ['GET /api/me', 401, ['Cookie: svault=a', 'Cookie: svault=b']],
    ] as const)
      expect([lines, (await send(`${target} HTTP/1.1`, 'Host: 127.0.0.1', ...lines)).status]).toEqual([
        lines,
        status,
      ]);
  });

  test('is not waited for where nobody signed in, where no body belongs, and past the cap', async () => {
    const endless = function* (...lines: readonly string[]): Generator<string> {
      yield [...lines, CHUNKED, '', ''].join('\r\n');
      for (;;) yield `10000\r\n${'x'.repeat(65_536)}\r\n`;
    };
    for (const [status, ...lines] of [
      [401, ...POST, 'Authorization: Bearer svadmin_x', 'Content-Type: application/json'],
      [413, ...POST, asAdmin(), 'Content-Type: application/json'],
      [404, 'POST /nowhere HTTP/1.1', 'Host: x', asAdmin()],
      [200, `GET ${CREDENTIALS} HTTP/1.1`, 'Host: x', `x-agent-key: ${agent.apiKey}`],
    ] as const)
      expect([lines, (await rawRequest(service.running.url, endless(...lines))).status]).toEqual([
        lines,
        status,
      ]);
  });
});

describe('whatever a client sends', () => {
  test('as JSON, to whatever route: never a 5xx, always a code of ours', async () => {
    const bodies = (await operationsOf(service.anyone)).filter(({ takesBody }) => takesBody);
    const value = fc.jsonValue({ maxDepth: 4 });
    const names = fc.constantFrom(
      ...['name', 'description', 'serviceName', 'tokenType', 'tags', 'expiresInSeconds', 'grantExpiresAt'],
      ...['refreshPolicy', 'mcpEnabled', 'code', 'webhookUrl', 'hmacHash', 'jkt', 'token', 'notes'],
    );
    const body = fc.oneof(fc.dictionary(names, value), value);
    await fc.assert(
      fc.asyncProperty(fc.nat(), body, async (pick, content) => {
        const { method, path } = bodies[pick % bodies.length] as Operation;
        const { status, json } = await service.admin(method, path, { body: content });
        expect(status).toBeLessThan(500);
        if (status >= 400)
          expect(json).toMatchObject({ error: expect.any(String), code: expect.stringMatching(/^[A-Z_]+$/) });
      }),
      { numRuns: 150 },
    );
  });

  test('in a form of OAuth: an error of OAuth’s', async () => {
    const names = fc.constantFrom(
      ...['grant_type', 'client_id', 'code', 'code_verifier', 'redirect_uri', 'refresh_token', 'token'],
      ...['resource', 'scope', 'token_type_hint', '__proto__', 'constructor', 'toString', ''],
    );
    const known = fc.constantFrom('authorization_code', 'refresh_token', 'https://127.0.0.1:1/c', 'svsess_');
    const fields = fc.array(fc.tuple(names, fc.oneof(known, fc.string({ unit: 'binary' }), fc.string())), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('token', 'revoke', 'introspect'), fields, async (name, pairs) => {
        const { status, json } = await service.anyone('POST', `/api/mcp-oauth/${name}`, {
          rawBody: new URLSearchParams(pairs).toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        });
        expect([200, 400]).toContain(status);
        if (status === 400) expect(json.error).toMatch(/^[a-z_]+$/);
        else expect(json).toEqual(name === 'revoke' ? {} : { active: false });
      }),
      { numRuns: 100 },
    );
  });

  test('of itself: it is registered, or gets an error of OAuth’s', async () => {
    const names = fc.constantFrom(
      ...['redirect_uris', 'client_name', 'client_uri', 'grant_types', 'response_types', 'scope'],
      ...['token_endpoint_auth_method', 'logo_uri', 'jwks', 'software_statement', 'constructor'],
    );
    const uris = fc.array(fc.oneof(fc.webUrl(), fc.constant('http://127.0.0.1/callback'), fc.string()));
    const value = fc.oneof(fc.jsonValue({ maxDepth: 4 }), uris);
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, value), async (body) => {
        const { status, json } = await service.anyone('POST', '/api/mcp-oauth/register', { body });
        if (status === 201) expect(json.client_id).toMatch(/^ocl_/);
        else expect([status, json.error]).toEqual([400, expect.stringMatching(/^invalid_/)]);
      }),
      { numRuns: 100 },
    );
  });
});
