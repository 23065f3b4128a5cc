import { tracesOf } from '@svault/test-kit/secret-forms';
import { hashKey } from '@svault/shared';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';
import { type LoggedEvent, stepsOn } from '../support/service-steps.ts';
import { uniqueName } from '../support/unique-name.ts';

const service = useService();
let agentId: string;
beforeAll(async () => {
  agentId = await newAgent();
});

const UPSTREAM = 'https://mcp.example.com/mcp';
const TOKEN_PROXY = { name: 'github', upstreamUrl: UPSTREAM, serviceName: 'github' };
const sessionProxy = () => ({
  name: uniqueName('ours'),
  upstreamUrl: UPSTREAM,
  upstreamAuthType: 'sv_session',
  agentId,
});

const newAgent = async (): Promise<string> =>
  (await service.admin('POST', '/api/agents', { body: { name: uniqueName('a') } })).json.agent.id;
const create = (body: object): Promise<Answer> =>
  service.admin('POST', '/api/proxies', { body: { allowMissing: true, ...body } });
const made = async (body: object = TOKEN_PROXY): Promise<{ id: string; key: string }> => {
  const { proxy, key } = (await create({ ...body, name: uniqueName('made') })).json;
  return { id: proxy.id, key };
};
const change = (id: string, body: object): Promise<Answer> =>
  service.admin('PATCH', `/api/proxies/${id}`, { body });
const post = (id: string, verb: string): Promise<Answer> =>
  service.admin('POST', `/api/proxies/${id}/${verb}`);
const read = (id: string): Promise<Answer> => service.admin('GET', `/api/proxies/${id}`);
const eventsOf = async (id: string): Promise<(LoggedEvent & { userId?: string })[]> =>
  (await stepsOn(service.running.url, service.admin).log()).filter(
    (event) => (event as { proxyId?: string }).proxyId === id,
  );
const typesOf = async (id: string): Promise<string[]> =>
  (await eventsOf(id)).map(({ eventType }) => eventType).toReversed();

/** The issues of an error: path → message. */
const issuesOf = ({ status, json }: Answer): Record<string, string> => {
  expect([status, json.code]).toEqual([422, 'INVALID_ARGUMENT']);
  return Object.fromEntries(
    (json.issues as { path: string; message: string }[]).map(({ path, message }) => [path, message]),
  );
};

const messagesOf = ({ json }: Answer): string[] =>
  (json.issues as { message: string }[]).map(({ message }) => message);

describe('a proxy', () => {
  // spec: Key prefix mcp_.
  // spec: Upstream auth type: Token (default)
  test('a proxy with a credential has the default template, and its key in the answer', async () => {
    const { status, json } = await create(TOKEN_PROXY);
    expect([status, json]).toEqual([
      201,
      {
        proxy: {
          id: expect.stringMatching(/^prx_[\w-]{22}$/),
          ...TOKEN_PROXY,
          kind: 'mcp',
          address: expect.stringMatching(/\/api\/proxy\/mcp$/),
          upstreamAuthType: 'Token',
          headerTemplates: { authorization: 'Bearer ${TOKEN}' },
          status: 'active',
          keyPrefix: `${json.key.slice(0, 8)}…`,
          createdAt: '2026-11-20T12:00:00.000Z',
        },
        key: expect.stringMatching(/^mcp_[\w-]{43}$/),
      },
    ]);
    expect((await read(json.proxy.id)).json).toEqual(json.proxy);
    const { items } = (await service.admin('GET', '/api/proxies?limit=100')).json;
    expect(items).toContainEqual(json.proxy);
    const { userId, detail, ...event } = (await eventsOf(json.proxy.id))[0]!;
    expect(event).toMatchObject({ eventType: 'PROXY_CREATED', outcome: 'success', serviceName: 'github' });
    expect([userId, detail]).toEqual([
      (await service.admin('GET', '/api/me')).json.id,
      { name: 'github', upstreamAuthType: 'Token', upstream: 'https://mcp.example.com' },
    ]);
  });

  // spec: or sv_session.
  test('a proxy with a session has an agent and no credential', async () => {
    const settings = { ...sessionProxy(), headerTemplates: { 'x-tenant': 'one' } };
    const { proxy } = (await create(settings)).json;
    expect(proxy).toMatchObject(settings);
    expect(proxy.serviceName).toBeUndefined();
  });
});

describe('the name of a proxy', () => {
  const statusOf = async (name: string): Promise<number> => (await create({ ...TOKEN_PROXY, name })).status;

  test('is another active proxy’s in no form that people would take for it', async () => {
    const { json } = await create({ ...TOKEN_PROXY, name: 'Linear' });
    const answer = await create({ ...TOKEN_PROXY, name: 'LINEAR' });
    expect([answer.status, answer.json]).toEqual([
      409,
      {
        error: `There is a proxy \`Linear\` (${json.proxy.id}) already. Choose another name, or use that one: \`svault proxies show ${json.proxy.id}\`.`,
        code: 'CONFLICT',
      },
    ]);
    for (const name of ['Lin\u200bear', '\uff2cinear'])
      expect([name, await statusOf(name)]).toEqual([name, 409]);
  });

  test('is of one proxy, where twenty ask for it at once', async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf('raced')));
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  });

  test('may be kept and respelled by a change, but not taken; that of a revoked or deleted proxy is free', async () => {
    const [one, other] = [await made(), await made()];
    const rename = async (id: string, name: string): Promise<number> => (await change(id, { name })).status;
    expect(await rename(one.id, 'kept')).toBe(200);
    expect(await rename(one.id, 'Kept')).toBe(200);
    expect(await rename(other.id, 'KEPT')).toBe(409);
    await post(one.id, 'revoke');
    expect(await rename(other.id, 'kept')).toBe(200);
    await service.admin('DELETE', `/api/proxies/${other.id}`);
    expect(await statusOf('kept')).toBe(201);
  });

  test.each(['\u200b', 'prx_AAAAAAAAAAAAAAAAAAAAAA'])('is not %j', async (name) => {
    expect(issuesOf(await create({ ...TOKEN_PROXY, name }))).toHaveProperty(['name']);
  });
});

describe('invalid settings of a proxy', () => {
  test('settings without what the upstreamAuthType needs are rejected', async () => {
    for (const [body, path, message] of [
      [{ ...TOKEN_PROXY, serviceName: undefined }, 'serviceName', 'missing'],
      [{ ...TOKEN_PROXY, serviceName: 'a/b' }, 'serviceName', 'service name'],
      [{ ...sessionProxy(), agentId: undefined }, 'agentId', 'missing'],
      [{ ...sessionProxy(), serviceName: 'github' }, 'serviceName', 'Token'],
      [{ ...TOKEN_PROXY, upstreamAuthType: 'token' }, 'upstreamAuthType', ''],
      [{ ...TOKEN_PROXY, upstream: 'x' }, 'upstream', ''],
    ] as const)
      expect(issuesOf(await create(body))).toEqual({ [path]: expect.stringContaining(message) });
  });

  test('an agent that is unknown, deleted or of another account is rejected', async () => {
    const gone = await newAgent();
    await service.admin('DELETE', `/api/agents/${gone}`);
    for (const [agentId, said] of [
      [gone, 'no agent'],
      ['agt_AAAAAAAAAAAAAAAAAAAAAA', 'no agent'],
      ['x', 'must be an id'],
      ['', 'must be an id'],
    ])
      for (const body of [
        { ...TOKEN_PROXY, agentId },
        { ...sessionProxy(), agentId },
      ])
        expect(issuesOf(await create(body))).toEqual({ agentId: expect.stringContaining(String(said)) });
  });

  test.each([
    ['a user name', 'https://me@mcp.example.com/', 'store it as a credential'],
    ['a password', 'https://:pw@mcp.example.com/', 'store it as a credential'],
    ['a key in the query', 'https://mcp.example.com/?Api_KEY=1', 'store it as a credential'],
    ['an encoded one', 'https://mcp.example.com/?a=1&%74oken=x', 'store it as a credential'],
    ['a secret', 'https://mcp.example.com/?client_secret', 'store it as a credential'],
    ['a password in the query', 'https://mcp.example.com/?password=', 'store it as a credential'],
    ['a signature', 'https://mcp.example.com/?X-Amz-Signature=1', 'store it as a credential'],
    ['plain HTTP', 'http://mcp.example.com/', 'https://'],
    ['a fragment', 'https://mcp.example.com/#x', 'fragment'],
    ['a backslash', 'https://mcp.example.com\\@evil.example/', 'backslash'],
    ['white space', 'https://mcp.example.com/a b', 'white space'],
    ['another scheme', 'file:///etc/passwd', 'web address'],
    ['no scheme', '//mcp.example.com', 'web address'],
    ['no host', 'https://', 'web address'],
  ])('an upstreamUrl with %s is rejected', async (_what, upstreamUrl, message) => {
    expect(issuesOf(await create({ ...TOKEN_PROXY, upstreamUrl }))).toEqual({
      upstreamUrl: expect.stringContaining(message),
    });
    const { id } = await made();
    expect(issuesOf(await change(id, { upstreamUrl }))).toEqual({
      upstreamUrl: expect.stringContaining(message),
    });
  });

  test('this service is rejected as the upstream of a session, since it would accept the tokens', async () => {
    for (const upstreamUrl of ['http://127.0.0.1:8080/api/agents/mcp', 'HTTP://127.1:8080'])
      expect(messagesOf(await create({ ...sessionProxy(), upstreamUrl }))).toContain(
        'is this service itself',
      );
  });

  test.each(['authorization', 'Cookie', 'X-API-Key', 'api-key', 'PRIVATE-TOKEN'])(
    'a literal value of the header %s is rejected',
    async (name) => {
      const headerTemplates = { [name]: 'ghp_secret' };
      const path = `headerTemplates.${name}`;
      expect(issuesOf(await create({ ...TOKEN_PROXY, headerTemplates }))).toEqual({
        [path]: expect.stringContaining('${TOKEN}'),
      });
      expect(issuesOf(await create({ ...sessionProxy(), headerTemplates }))).toHaveProperty([path]);
      const injected = {
        ...TOKEN_PROXY,
        name: uniqueName('injected'),
        headerTemplates: { [name]: 'x $<TOKEN>' },
      };
      expect((await create(injected)).status).toBe(201);
    },
  );

  test('a marker in a template is rejected where no credential is injected', async () => {
    for (const template of ['${TOKEN}', 'a $<TOKEN>'])
      expect(issuesOf(await create({ ...sessionProxy(), headerTemplates: { 'x-a': template } }))).toEqual({
        'headerTemplates.x-a': expect.stringContaining('marker'),
      });
  });

  // What a template may be is decided by the schema of the protocol.
  test.each([
    [{ 'Content-Length': '${TOKEN}' }, 'headerTemplates'],
    [{ 'a b': '${TOKEN}' }, 'headerTemplates'],
    [{ 'x-a': 'a\r\nb' }, 'headerTemplates.x-a'],
  ])('the templates %j are rejected', async (headerTemplates, path) => {
    const { status, json } = await create({ ...TOKEN_PROXY, name: uniqueName('templates'), headerTemplates });
    expect([status, json.issues[0].path]).toEqual([422, expect.stringContaining(path)]);
    expect(JSON.stringify(json)).not.toContain('a\\r\\nb');
  });

  test('rejected settings store nothing', async () => {
    const count = async () => (await service.admin('GET', '/api/proxies?limit=100')).json.items.length;
    const before = await count();
    await create({ ...TOKEN_PROXY, upstreamUrl: 'https://a:b@c.example' });
    expect(await count()).toBe(before);
  });
});

describe('a change of a proxy', () => {
  test('PATCH /api/proxies/{id} changes the named members only', async () => {
    const { id } = await made();
    const changes = {
      name: 'other',
      upstreamUrl: 'https://other.example.com/',
      serviceName: 'npm',
      agentId,
      headerTemplates: { 'x-api-key': '${TOKEN}' },
    };
    for (const [member, value] of Object.entries(changes)) {
      const { json } = await change(id, { [member]: value, allowMissing: true });
      expect(json).toMatchObject({ [member]: value });
    }
    expect((await read(id)).json).toMatchObject(changes);
    expect((await change(id, { agentId: null, headerTemplates: null })).json).toMatchObject({
      headerTemplates: { authorization: 'Bearer ${TOKEN}' },
    });
    expect((await read(id)).json).not.toHaveProperty('agentId');
    const [last] = await eventsOf(id);
    expect(last).toMatchObject({
      eventType: 'PROXY_UPDATED',
      detail: { members: ['agentId', 'headerTemplates'] },
    });
  });

  test('a PATCH without a difference writes no event', async () => {
    const { id } = await made();
    for (const body of [{}, TOKEN_PROXY_AGAIN]) expect((await change(id, body)).status).toBe(200);
    expect(await typesOf(id)).toEqual(['PROXY_CREATED']);
  });
  const TOKEN_PROXY_AGAIN = {
    ...TOKEN_PROXY,
    name: undefined,
    headerTemplates: { authorization: 'Bearer ${TOKEN}' },
  };

  test('a PATCH cannot change the type, and is validated like a new proxy', async () => {
    const { id } = await made(sessionProxy());
    for (const body of [
      { upstreamAuthType: 'Token' },
      { agentId: null },
      { serviceName: 'github' },
      { headerTemplates: { authorization: '${TOKEN}' } },
      { status: 'revoked' },
      { key: 'mcp_x' },
    ])
      expect([body, (await change(id, body)).status]).toEqual([body, 422]);
    expect(await typesOf(id)).toEqual(['PROXY_CREATED']);
  });
});

describe("a proxy's key", () => {
  test('is revealed, and each time audited', async () => {
    const { id, key } = await made();
    for (let n = 0; n < 2; n++) expect((await post(id, 'reveal-key')).json).toEqual({ key });
    expect((await typesOf(id)).filter((type) => type === 'KEY_REVEALED')).toHaveLength(2);
  });

  // spec: The key is shown once at creation
  test('the key is stored wrapped and hashed, and shown nowhere else', async () => {
    const { id, key } = await made();
    await post(id, 'reveal-key');
    const shown = [await read(id), await service.admin('GET', '/api/audit?limit=100')];
    shown.push(await service.admin('GET', '/api/account/export'));
    const bytes = Buffer.concat([
      await service.place.state.bytes(),
      ...shown.map(({ text }) => Buffer.from(text)),
    ]);
    expect(tracesOf(key, bytes)).toEqual([]);
    expect(tracesOf(hashKey(key), Buffer.from(shown.map(({ text }) => text).join('')))).toEqual([]);
  });

  test('a revoked proxy cannot be revealed or changed, and revoking it again writes nothing', async () => {
    const { id } = await made();
    service.clock.advance(1_000);
    const revoked = await post(id, 'revoke');
    expect([revoked.status, revoked.json]).toEqual([
      200,
      expect.objectContaining({ status: 'revoked', revokedAt: expect.stringMatching(/^2026/) }),
    ]);
    expect((await post(id, 'revoke')).json).toEqual(revoked.json);
    for (const answer of [await post(id, 'reveal-key'), await change(id, { name: 'n' })])
      expect([answer.status, answer.json.code]).toEqual([409, 'CONFLICT']);
    expect((await read(id)).json).toEqual(revoked.json);
    expect(await typesOf(id)).toEqual(['PROXY_CREATED', 'KEY_REVOKED']);
  });

  // spec: and can be revoked.
  test.each([
    ['revoked', 'POST', '/revoke'],
    ['deleted', 'DELETE', ''],
  ])('the key of a %s proxy is invalid for the next request', async (_how, method, path) => {
    const { id, key } = await made();
    const use = async () => {
      const { status, json } = await service.anyone('POST', '/api/proxy/mcp', {
        headers: { 'x-mcp-key': key },
      });
      return `${status} ${json.code}`;
    };
    expect(await use()).toBe('502 WEBHOOK_NOT_CONFIGURED');
    await service.admin(method, `/api/proxies/${id}${path}`);
    expect(await use()).toBe('403 INVALID_KEY');
  });

  test('deleting a proxy deletes its key and detaches its policies', async () => {
    const { id } = await made();
    const policy = { name: 'p', rules: [{ type: 'manual_approval' }] };
    const policyId = (await service.admin('POST', '/api/policies', { body: policy })).json.id;
    const target = { targetType: 'proxy', targetId: id };
    await service.admin('POST', `/api/policies/${policyId}/attachments`, { body: target });
    expect((await service.admin('DELETE', `/api/proxies/${id}`)).status).toBe(204);
    for (const answer of [
      await read(id),
      await post(id, 'reveal-key'),
      await post(id, 'revoke'),
      await change(id, {}),
      await service.admin('DELETE', `/api/proxies/${id}`),
    ])
      expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);
    const { items } = (await service.admin('GET', `/api/policies/${policyId}/attachments`)).json;
    expect(items).toEqual([]);
    expect(await typesOf(id)).toEqual([
      'PROXY_CREATED',
      'POLICY_ATTACHED',
      'POLICY_DETACHED',
      'PROXY_DELETED',
    ]);
  });
});

describe('a proxy of an HTTP API', () => {
  const API = { kind: 'http', upstreamUrl: 'https://api.example.com/v3', serviceName: 'github' };
  const query = { key: '${TOKEN}' };
  const redirects = 'follow-without-credential';

  test('has a base URL, query templates and redirects, which are changed and removed', async () => {
    const { json } = await create({ ...API, name: uniqueName('api'), queryTemplates: query, redirects });
    expect(json.proxy).toMatchObject({ kind: 'http', headerTemplates: {}, queryTemplates: query, redirects });
    expect(json.proxy.address).toMatch(/\/api\/proxy\/http$/);
    const { id } = json.proxy;
    const changed = await change(id, { queryTemplates: null, redirects: null, headerTemplates: null });
    expect(changed.status).toBe(200);
    expect(changed.json).toMatchObject({ headerTemplates: { authorization: 'Bearer ${TOKEN}' } });
    for (const member of ['queryTemplates', 'redirects']) expect(changed.json).not.toHaveProperty(member);
    expect(await typesOf(id)).toEqual(['PROXY_CREATED', 'PROXY_UPDATED']);
    expect((await change(id, { kind: 'mcp' })).status).toBe(422);
  });

  test.each([
    [{ ...API, upstreamUrl: 'https://api.example.com/?a=b' }, ['upstreamUrl']],
    [{ ...API, upstreamAuthType: 'sv_session', serviceName: undefined }, ['upstreamAuthType', 'agentId']],
    [{ ...TOKEN_PROXY, queryTemplates: query, redirects }, ['queryTemplates', 'redirects']],
    [{ ...API, queryTemplates: {} }, ['queryTemplates']],
    [{ ...API, redirects: 'follow' }, ['redirects']],
  ])('reports each setting that does not fit its kind: %j', async (body, paths) => {
    const issues = Object.keys(issuesOf(await create({ ...body, name: uniqueName('api') })));
    expect(issues.toSorted()).toEqual(paths.toSorted());
  });
});

describe('a proxy that signs for AWS', () => {
  const S3 = {
    kind: 'http',
    upstreamAuthType: 'aws_sigv4',
    upstreamUrl: 'https://s3.eu-central-1.amazonaws.com',
    serviceName: 'github',
  };
  const OWN_DOMAIN = { ...S3, upstreamUrl: 'https://objects.example.com' };

  test('has no templates, and a region and service where they are given, which are changed and removed', async () => {
    const { json } = await create({ ...S3, name: uniqueName('s3') });
    expect(json.proxy).toMatchObject({ upstreamAuthType: 'aws_sigv4', headerTemplates: {} });
    for (const member of ['region', 'service']) expect(json.proxy).not.toHaveProperty(member);
    const { id } = json.proxy;
    const scope = { region: 'eu-west-1', service: 's3' };
    expect((await change(id, scope)).json).toMatchObject(scope);
    expect((await change(id, { upstreamUrl: OWN_DOMAIN.upstreamUrl })).status).toBe(200);
    expect(Object.keys(issuesOf(await change(id, { region: null })))).toEqual(['region']);
    const told = await change(id, { upstreamUrl: S3.upstreamUrl, region: null, headerTemplates: null });
    expect(told.json).toMatchObject({ service: 's3', headerTemplates: {} });
    expect(told.json).not.toHaveProperty('region');
  });

  test.each([
    [OWN_DOMAIN, ['region', 'service']],
    [{ ...OWN_DOMAIN, region: 'eu-west-1' }, ['service']],
    [{ ...S3, region: 'a/b' }, ['region']],
    [{ ...S3, kind: 'mcp' }, ['upstreamAuthType']],
    [{ ...S3, upstreamAuthType: 'Token', region: 'eu-west-1' }, ['region']],
    [{ ...S3, headerTemplates: { 'x-key': '${TOKEN}' } }, ['headerTemplates.x-key']],
    [{ ...S3, queryTemplates: { key: '${BASIC:u}' } }, ['queryTemplates.key']],
    [{ ...S3, serviceName: undefined }, ['serviceName']],
  ])('reports each setting that does not fit it: %j', async (body, paths) => {
    const issues = Object.keys(issuesOf(await create({ ...body, name: uniqueName('s3') })));
    expect(issues.toSorted()).toEqual(paths.toSorted());
  });
});
