import { newKey } from '@svault/shared';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { byHand } from '../support/http-by-hand.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { clientOf } from '../support/management-service.ts';
import { PROXY, type TestProxy, codeOf, message, proxyOn, sessionSettings } from '../support/proxy-steps.ts';

// The denials of a proxy: their bodies and their events (specification, "Proxy endpoint").

let service: LinkedService;
let proxy: TestProxy;
beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.clock.advance(60_000);
  proxy = await proxyOn(service);
});

const METHODS = ['POST', 'GET', 'DELETE', 'OPTIONS'];
const ask = (method: string, client = proxy) =>
  method === 'POST' ? client.send('tools/call', {}, 'my id') : client.call(method);
const events = async (): Promise<readonly unknown[]> =>
  (await service.log('&eventType=PROXY_CREDENTIAL_USE'))
    .filter((event) => (event as { proxyId?: string }).proxyId === proxy.id)
    .map(({ outcome, detail }) => [outcome, detail?.['code']])
    .toReversed();
const policyOn = async (targetType: string, targetId: string, rule: object): Promise<string> => {
  const body = { name: 'house rules', rules: [rule] };
  const { id } = (await service.admin('POST', '/api/policies', { body })).json;
  const attached = await service.admin('POST', `/api/policies/${id}/attachments`, {
    body: { targetType, targetId },
  });
  expect(attached.status).toBeLessThan(300);
  return id;
};

describe('the key of a proxy', () => {
  const by = (headers: Record<string, string | string[]>) =>
    byHand(service.running.url + PROXY, { method: 'GET', headers });
  const said = async (headers: Parameters<typeof by>[0]): Promise<unknown> => {
    const { status, text } = await by(headers);
    return [status, (JSON.parse(text) as { code?: string }).code];
  };

  // spec: 1 | Authorization header | Bearer mcp_<key>
  // spec: 2 | x-mcp-key header | mcp_<key>
  it('is read from Authorization before x-mcp-key', async () => {
    const [right, wrong] = [proxy.key, newKey('mcp')];
    const refused = [403, 'INVALID_KEY'];
    expect((await by({ authorization: `Bearer ${right}`, 'x-mcp-key': wrong })).status).toBe(200);
    expect((await by({ authorization: `bearer ${right}` })).status).toBe(200);
    expect((await by({ 'x-mcp-key': right })).status).toBe(200);
    expect((await by({ authorization: 'Basic eDp5', 'x-mcp-key': right })).status).toBe(200);
    expect(await said({ authorization: `Bearer ${wrong}`, 'x-mcp-key': right })).toEqual(refused);
    expect(await said({ authorization: 'Bearer', 'x-mcp-key': right })).toEqual(refused);
    expect(await said({ authorization: [`Bearer ${right}`, `Bearer ${right}`] })).toEqual(refused);
    expect(await said({ 'x-mcp-key': [right, right] })).toEqual(refused);
    for (const key of [`${right} `, right.toUpperCase(), right.slice(4), `mcp_${right}`, 'svagent_x'])
      expect(await said({ 'x-mcp-key': `x${key}` })).toEqual(refused);
  });

  // spec: Auth: proxy key mcp_....
  it('is MISSING_KEY without one, and INVALID_KEY for keys of other kinds', async () => {
    expect(await said({})).toEqual([401, 'MISSING_KEY']);
    for (const authorization of ['Basic eDp5', 'Bearer', 'Bearer '])
      expect(await said({ authorization })).toEqual([401, 'MISSING_KEY']);
    expect(await said({ 'x-agent-key': proxy.key })).toEqual([401, 'MISSING_KEY']);
    const agent = await service.agent('github');
    for (const key of [agent.apiKey, service.place.adminKey, newKey('svsess')])
      expect(await said({ authorization: `Bearer ${key}` })).toEqual([403, 'INVALID_KEY']);
  });

  it('leaves one event of its proxy in a minute once revoked', async () => {
    await service.admin('POST', `/api/proxies/${proxy.id}/revoke`);
    for (const method of METHODS) expect(codeOf(await ask(method))).toEqual([403, 'INVALID_KEY']);
    const denials = await service.log(`&eventType=PROXY_CREDENTIAL_USE&proxyId=${proxy.id}`);
    expect(denials).toMatchObject([
      {
        outcome: 'denied',
        serviceName: 'github',
        detail: { code: 'INVALID_KEY' },
        origin: { channel: 'proxy' },
      },
    ]);
  });

  it.each(METHODS)('is required by %s, and INVALID_KEY once revoked', async (method) => {
    const anyone = clientOf(service.running.url);
    const missing = await anyone(method, PROXY);
    expect([missing.status, missing.json]).toEqual([401, { error: expect.any(String), code: 'MISSING_KEY' }]);
    await service.admin('POST', `/api/proxies/${proxy.id}/revoke`);
    const revoked = await ask(method);
    expect([revoked.status, revoked.json]).toEqual([403, { error: expect.any(String), code: 'INVALID_KEY' }]);
    for (const { headers } of [missing, revoked]) {
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.has('access-control-allow-origin')).toBe(false);
    }
  });
});

it.each(['HEAD', 'PUT', 'PATCH', 'TRACE'])('%s is 405 with the allowed methods', async (method) => {
  const answer = await byHand(service.running.url + PROXY, { method, headers: { 'x-mcp-key': proxy.key } });
  expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, POST, DELETE, OPTIONS']);
  expect(await events()).toEqual([]);
});

// spec: The service authenticates the key, evaluates ABAC policies,
// spec: On GET, DELETE and OPTIONS (no JSON-RPC body), policy denials use the plain POLICY_DENIED body: 403 for most rules,
// spec: Any other rule denies with the plain 403 body.
it.each(METHODS)(
  '%s is denied with plain JSON while the agent is not active or the vault locked, and by a policy, with one event each',
  async (method) => {
    const agent = await service.agent();
    proxy = await proxyOn(service, { agentId: agent.id });
    expect((await ask(method)).status).toBe(200);
    await service.admin('POST', `/api/agents/${agent.id}/suspend`);
    for (let n = 0; n < 3; n++) expect(codeOf(await ask(method))).toEqual([403, 'AGENT_INACTIVE']);
    await service.admin('POST', `/api/agents/${agent.id}/resume`);
    await service.admin('POST', '/api/vault/lock');
    const locked = await ask(method);
    await service.admin('POST', '/api/vault/unlock');
    expect([locked.status, locked.json]).toEqual([423, { error: expect.any(String), code: 'VAULT_LOCKED' }]);
    await policyOn('proxy', proxy.id, { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] });
    const byPolicy = await ask(method);
    expect([byPolicy.status, byPolicy.json]).toEqual([
      403,
      {
        error: expect.any(String),
        policy: 'house rules',
        rule: 'ip_allowlist',
        reason: expect.any(String),
        code: 'POLICY_DENIED',
      },
    ]);
    const denials = ['AGENT_INACTIVE', 'VAULT_LOCKED', 'POLICY_DENIED'].map((code) => ['denied', code]);
    expect(await events()).toEqual([['success', undefined], ...denials]);
  },
);

describe('a rate_limit rule', () => {
  // spec: 429 for rate_limit.
  // spec: On POST, a rate_limit denial,
  // spec: On /api/proxy/mcp, -32029 may carry data.code POLICY_DENIED.
  it('denies with a JSON-RPC error on POST and plain JSON otherwise, and counts only requests that all else allows', async () => {
    await policyOn('proxy', proxy.id, { type: 'rate_limit', limit: 1, windowSeconds: 60 });
    await service.admin('POST', '/api/vault/lock');
    await ask('POST');
    await service.admin('POST', '/api/vault/unlock');
    expect((await ask('POST')).status).toBe(200);
    service.clock.advance(20_000);
    const post = await ask('POST');
    expect([post.status, post.headers.get('retry-after'), post.json]).toEqual([
      429,
      '40',
      {
        jsonrpc: '2.0',
        id: 'my id',
        error: {
          code: -32_029,
          message: expect.stringContaining('house rules'),
          data: { code: 'POLICY_DENIED', retryAfter: 40 },
        },
      },
    ]);
    for (const method of ['GET', 'DELETE', 'OPTIONS']) {
      const plain = await ask(method);
      expect([plain.status, plain.headers.get('retry-after'), plain.json]).toEqual([
        429,
        '40',
        {
          error: expect.any(String),
          policy: 'house rules',
          rule: 'rate_limit',
          reason: expect.any(String),
          code: 'POLICY_DENIED',
          retryAfter: 40,
        },
      ]);
    }
    expect((await service.admin('GET', '/api/limits/lockouts')).json.items).toEqual([]);
  });
});

describe('policies of the token', () => {
  it('apply to proxies and agents alike, with one shared count', async () => {
    await service.admin('POST', '/api/tokens', { body: { serviceName: 'shared', tokenType: 'PlainText' } });
    const agent = await service.agent('shared');
    const ours = await proxyOn(service, { serviceName: 'shared' });
    const id = await policyOn('token', 'shared', { type: 'max_usage', limit: 3 });
    expect((await ask('POST', ours)).status).toBe(200);
    expect((await agent.get('shared')).status).toBe(307);
    expect((await ask('GET', ours)).status).toBe(200);
    expect(codeOf(await ask('POST', ours))).toEqual([403, 'POLICY_DENIED']);
    expect((await agent.get('shared')).status).toBe(403);
    // They do not apply to another token's proxy.
    expect((await ask('POST')).status).toBe(200);
    await service.admin('DELETE', `/api/policies/${id}`);
    expect((await ask('POST', ours)).status).toBe(200);
  });
});

it('without a webhook a Token proxy gets 502 WEBHOOK_NOT_CONFIGURED, and an sv_session proxy works', async () => {
  const agent = await service.agent();
  const upstream = `${service.webhook.url}/upstream`;
  const direct = await proxyOn(service, sessionSettings(agent.id, upstream));
  await service.admin('DELETE', '/api/webhook');
  for (const method of METHODS) {
    const answer = await ask(method);
    expect([answer.status, answer.json]).toEqual([
      502,
      { error: expect.any(String), code: 'WEBHOOK_NOT_CONFIGURED' },
    ]);
  }
  service.webhook.fault = (path) => (path === '/upstream' ? { status: 200, body: 'here' } : undefined);
  expect((await ask('POST', direct)).text).toBe('here');
  service.webhook.fault = undefined;
  expect((await service.bind()).status).toBe(201);
  expect(await events()).toEqual(METHODS.map(() => ['error', 'WEBHOOK_NOT_CONFIGURED']));
});

it('pages of other origins or host names are denied, and no page may read a response', async () => {
  const by = (headers: Record<string, string>) =>
    byHand(service.running.url + PROXY, {
      method: 'POST',
      headers: { 'x-mcp-key': proxy.key, ...headers },
      chunks: [JSON.stringify(message('ping', {}, 1))],
    });
  for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, { host: 'evil.example' }])
    expect((await by(headers)).status).toBe(403);
  const own = await by({ origin: 'http://127.0.0.1:8080' });
  expect(own.status).toBe(200);
  expect(Object.keys(own.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  expect(await events()).toEqual([['success', undefined]]);
});

it('a body that is compressed or ends early is 400, without a use', async () => {
  const compressed = await proxy.call('POST', { rawBody: 'x', headers: { 'content-encoding': 'gzip' } });
  expect(codeOf(compressed)).toEqual([400, 'INVALID_REQUEST']);
  expect(await events()).toEqual([]);
});

it('a large body of an unknown key is read up to 64 KiB only', async () => {
  const { status, text } = await byHand(service.running.url + PROXY, {
    method: 'POST',
    headers: { 'x-mcp-key': newKey('mcp'), 'content-length': '8000000' },
    chunks: [Buffer.alloc(100_000)],
    open: true,
  });
  expect([status, JSON.parse(text)]).toMatchObject([403, { code: 'INVALID_KEY' }]);
});
