import { describe, expect, test } from 'vitest';
import { useService } from '../support/use-service.ts';

const service = useService();

const JSON_TYPE = { 'content-type': 'application/json' };
const post = (rawBody: string | Uint8Array, headers: Record<string, string> = JSON_TYPE) =>
  service.admin('POST', '/api/agents', { rawBody, headers });

describe('400 INVALID_REQUEST for a body that is no JSON object', () => {
  test.each([
    ['text', 'name=builder'],
    ['an array', '[{"name":"builder"}]'],
    ['a string', '"builder"'],
    ['cut off', '{"name":"buil'],
    ['a name twice', '{"name":"a","name":"b"}'],
    ['__proto__', '{"name":"a","__proto__":{"x":1}}'],
    ['a byte order mark', '\uFEFF{"name":"builder"}'],
    ['10,000 levels', `{"name":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
  ])('%s', async (_what, body) => {
    const answer = await post(body);
    expect([answer.status, answer.json.code]).toEqual([400, 'INVALID_REQUEST']);
  });

  test('invalid UTF-8', async () => {
    const answer = await post(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d));
    expect([answer.status, answer.json.code]).toEqual([400, 'INVALID_REQUEST']);
  });

  test('a body with a content coding', async () => {
    const answer = await post('{"name":"builder"}', { ...JSON_TYPE, 'content-encoding': 'gzip' });
    expect([answer.status, answer.json.code]).toEqual([400, 'INVALID_REQUEST']);
  });

  test('a path with invalid percent-encoding', async () => {
    const answer = await service.admin('GET', '/api/agents/%E0%A4%A');
    expect([answer.status, answer.json.code]).toEqual([400, 'INVALID_REQUEST']);
  });
});

test('413 TOO_LARGE for a body above its limit', async () => {
  const answer = await post(JSON.stringify({ name: 'x'.repeat(300_000) }));
  expect([answer.status, answer.json.code]).toEqual([413, 'TOO_LARGE']);
});

test.each([{ 'content-type': 'text/plain' }, { 'content-type': 'application/x-www-form-urlencoded' }])(
  '415 UNSUPPORTED_MEDIA_TYPE for %j',
  async (headers) => {
    const answer = await post('{"name":"builder"}', headers);
    expect([answer.status, answer.json.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  },
);

test('application/json is accepted with any parameters', async () => {
  const answer = await post('{"name":"builder"}', { 'content-type': 'Application/JSON; charset=utf-8' });
  expect(answer.status).toBe(201);
});

describe('422 INVALID_ARGUMENT with issues', () => {
  test.each([
    ['a missing member', {}, ['name']],
    ['a wrong type', { name: 7 }, ['name']],
    ['an empty name', { name: '' }, ['name']],
    ['a control character', { name: 'a\u0000b' }, ['name']],
    ['spaces around', { name: ' a' }, ['name']],
    ['too long', { name: 'x'.repeat(101) }, ['name']],
    ['an unknown member', { name: 'a', owner: 'me' }, ['owner']],
    ['several at once', { name: 7, mcpEnabled: 'yes', a: 1, b: 2 }, ['name', 'mcpEnabled', 'a', 'b']],
    ['a secret-looking member', { name: 'a', accessToken: 'x' }, ['accessToken']],
  ])('%s', async (_what, body, paths) => {
    const answer = await service.admin('POST', '/api/agents', {
      rawBody: JSON.stringify(body),
      headers: JSON_TYPE,
    });
    expect([answer.status, answer.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
    expect(answer.json.issues.map(({ path }: { path: string }) => path).sort()).toEqual([...paths].sort());
  });

  test('names the limit of a page once', async () => {
    const message = 'must be a whole number from 1 to 100';
    for (const limit of ['0', '101', '5000', 'ten'])
      expect((await service.admin('GET', `/api/agents?limit=${limit}`)).json.issues).toEqual([
        { path: 'limit', message },
      ]);
  });

  test('names the index inside a list', async () => {
    const body = { serviceName: 'github', tokenType: 'PlainText', tags: ['fine', 'not\u0007fine'] };
    const answer = await service.admin('POST', '/api/tokens', { body });
    expect(answer.json.issues).toEqual([{ path: 'tags.1', message: expect.any(String) }]);
  });

  test('a body on a route without one', async () => {
    const { id } = (await service.admin('POST', '/api/agents', { body: { name: 'a' } })).json.agent;
    const answer = await service.admin('POST', `/api/agents/${id}/suspend`, { body: { reason: 'x' } });
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, 'reason']);
  });

  test.each(['limit=0', 'limit=101', 'limit=1e1', 'limit=1&limit=2', 'cursor=%00', 'cursor=e30', 'what=1'])(
    'the query %s',
    async (query) => {
      const answer = await service.admin('GET', `/api/agents?${query}`);
      expect([answer.status, answer.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
    },
  );

  test('a cursor of another list', async () => {
    for (const name of ['a', 'b']) await service.admin('POST', '/api/agents', { body: { name } });
    const { nextCursor } = (await service.admin('GET', '/api/agents?limit=1')).json;
    const answer = await service.admin('GET', `/api/tokens?cursor=${nextCursor}`);
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, 'cursor']);
  });

  test.each(['value', 'secret', 'accessToken', 'refreshToken', 'privateKey', 'clientSecret', 'password'])(
    'token metadata has no member %s',
    async (member) => {
      const body = { serviceName: 'github', tokenType: 'PlainText', [member]: 'canary' };
      const answer = await service.admin('POST', '/api/tokens', { body });
      expect([answer.status, answer.json.issues[0].path]).toEqual([422, member]);
      expect(answer.text).not.toContain('canary');
    },
  );
});

describe('405 and 404', () => {
  test('405 lists the methods of the path in Allow', async () => {
    const answer = await service.admin('PUT', '/api/agents');
    expect([answer.status, answer.json.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    expect(answer.headers.get('allow')).toBe('POST, GET, HEAD');
    expect((await service.admin('OPTIONS', '/api/vault/lock')).headers.get('allow')).toBe('POST');
  });

  test.each(['/api', '/api/', '/api/agent', '/api/agents/', '/API/agents', '/nothing'])(
    '%s',
    async (path) => {
      const answer = await service.admin('GET', path);
      expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);
    },
  );
});
