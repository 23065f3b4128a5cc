/** Request rules that are sealed with a credential, at `POST /v1/proxy` (PROTOCOL.md section 5.7). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { type ProxyCall, callProxy, injections, putProxy } from '../support/proxy-calls.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const TOKEN = 'tkn_request_rules_0123456789';
const TOOLS = ['search_issues', 'get_issue', 'delete_repository'];

let webhook: BoundWebhook;
let upstream: Upstream;
let answer: Parameters<typeof startUpstream>[0];
beforeAll(async () => {
  upstream = await startUpstream((req, res) => answer?.(req, res));
  webhook = await boundWebhook({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
});
beforeEach(() => {
  answer = (_req, res) => res.setHeader('content-type', 'application/json').end('{}');
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});

const RULES = [
  { tools: ['search_*', 'get_issue'], paths: ['/mcp'], arguments: { '/repo': ['acme/site'] } },
  { mcp: ['resources/*'], paths: ['/mcp'] },
  { methods: ['POST'], paths: ['/open/**'] },
];
async function store(requests: unknown, name = 'api', more: object = {}) {
  const body = { tokenType: 'PlainText', value: TOKEN, allowedHosts: [upstream.url], requests, ...more };
  return webhook.store(name, body);
}
const point = (path: string, more: Parameters<typeof putProxy>[2] = {}): Promise<void> =>
  putProxy(webhook, `${upstream.url}${path}`, more);

const message = (method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) });
const toolCall = (name: string, given: object = { repo: 'acme/site' }): string =>
  message('tools/call', { name, arguments: given });

/** Whether the upstream was called, or the code and cause of the refusal. */
async function outcome(call: ProxyCall): Promise<'called' | readonly [number, string, string]> {
  const before = upstream.requests.length;
  const { status, headers, json } = await callProxy(webhook, call);
  if (headers['sv-proxy-origin'] === 'upstream') return 'called';
  expect(upstream.requests).toHaveLength(before);
  return [status, json.code, json.cause];
}
const denied = (cause: string) => [403, 'REQUEST_NOT_ALLOWED', cause];

describe('a credential with request rules', () => {
  beforeAll(async () => {
    expect(await store(RULES)).toMatchObject({ status: 200 });
  });
  beforeEach(() => point('/mcp'));

  test('lists them as they were stored', async () => {
    const { json } = await webhook.storage({ op: 'tokens.get', serviceName: 'api' });
    expect(json.requests).toEqual(RULES);
  });

  test.each<[string, ProxyCall, string | undefined]>([
    ['a tool by its name and argument', { body: toolCall('get_issue') }, undefined],
    ['a tool by a pattern', { body: toolCall('search_issues') }, undefined],
    ['another tool', { body: toolCall('delete_repository') }, 'rule'],
    ['another argument', { body: toolCall('get_issue', { repo: 'acme/other' }) }, 'rule'],
    ['no argument', { body: toolCall('get_issue', {}) }, 'rule'],
    ['a method by its pattern', { body: message('resources/read', { uri: 'x:y' }) }, undefined],
    ['another method', { body: message('prompts/get', { name: 'get_issue' }) }, 'rule'],
    ['the handshake', { body: message('initialize', {}) }, undefined],
    ['a notification', { body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' }, undefined],
    ['a response', { body: '{"jsonrpc":"2.0","id":4,"result":null}' }, undefined],
    ['the stream of the server', { method: 'GET' }, undefined],
    ['the end of a session', { method: 'DELETE' }, undefined],
    ['a batch', { body: `[${toolCall('get_issue')}]` }, 'json'],
    ['a name twice', { body: toolCall('get_issue').replace('{', '{"method":"ping",') }, 'json'],
    ['a name in two cases', { body: toolCall('get_issue').replace('{', '{"Method":"ping",') }, 'member_case'],
    ['another media type', { body: toolCall('get_issue'), contentType: 'text/plain' }, 'content_type'],
    [
      'a header that contradicts',
      { body: toolCall('get_issue'), headers: { 'mcp-method': 'ping' } },
      'mcp_header',
    ],
  ])('decides about %s', async (_what, call, cause) => {
    expect(await outcome(call)).toEqual(cause === undefined ? 'called' : denied(cause));
  });

  test('is not widened by what the control plane configures: neither path nor host nor headers', async () => {
    const call = { body: toolCall('get_issue') };
    for (const path of ['/', '/mcp/', '/MCP', '/admin', '/mcp/../admin', '/mcp;x', '/mcp%2Fx']) {
      await point(path);
      expect(await outcome(call), path).toEqual(denied(expect.any(String) as unknown as string));
    }
    await point('/open/x');
    expect(await outcome({ ...call, body: toolCall('delete_repository') })).toBe('called');
    for (const header of ['X-HTTP-Method-Override', 'x_http_method', 'X-Original-URL', 'X-Rewrite-URL']) {
      await point('/mcp', { headerTemplates: { authorization: 'Bearer ${TOKEN}', [header]: 'DELETE' } });
      expect(await outcome(call), header).toEqual(
        denied(expect.stringContaining('override') as unknown as string),
      );
    }
    await point('/mcp', { headerTemplates: { 'content-type': 'text/plain' } });
    expect(await outcome(call)).toEqual(denied('content_type'));
  });

  test('is logged with the pattern and the tool, or the reason, and nothing else of the request', async () => {
    await outcome({ body: toolCall('get_issue', { repo: 'acme/site', note: 'private' }) });
    await outcome({ body: toolCall('delete_repository', { note: 'private' }) });
    const [refused, used] = await injections(webhook, 'api');
    expect(used).toMatchObject({ outcome: 'success', detail: { path: '/mcp', tool: 'get_issue' } });
    expect(refused).toMatchObject({
      outcome: 'denied',
      detail: { code: 'REQUEST_NOT_ALLOWED', reason: 'rule: tool delete_repository' },
    });
    expect(JSON.stringify([refused, used])).not.toContain('private');
  });

  const list = (): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: TOOLS.map((name) => ({ name })) } });
  test.each([
    ['JSON', 'application/json', list],
    ['an event stream', 'text/event-stream', () => `id: 1\ndata: ${list()}\n\n`],
  ])('hides the tools that it does not allow in %s', async (_what, type, body) => {
    answer = (_req, res) => res.setHeader('content-type', type).end(body());
    const listed = await callProxy(webhook, { body: message('tools/list') });
    expect(TOOLS.filter((name) => listed.body.includes(name))).toEqual(['search_issues', 'get_issue']);
    // Any body is allowed there.
    await point('/open/mcp');
    const whole = await callProxy(webhook, { body: message('tools/list') });
    expect(TOOLS.filter((name) => whole.body.includes(name))).toEqual(TOOLS);
  });

  test('breaks off an answer to tools/list that it cannot read', async () => {
    answer = (_req, res) => res.setHeader('content-type', 'application/json').end('{"result":{"tools":[');
    await expect(callProxy(webhook, { body: message('tools/list') })).rejects.toThrow();
  });
});

test('a denied request makes no credential', async () => {
  const minter = {
    type: 'github-app',
    appId: '1',
    installationId: '1',
    privateKey: '',
    apiUrl: upstream.url,
  };
  const record = { tokenType: 'RawCredential', minter, allowedHosts: [upstream.url], requests: RULES };
  expect(await webhook.store('minted', record)).toMatchObject({ status: 200 });
  const call = { proxyId: 'prx_MMMMMMMMMMMMMMMMMMMMMM', serviceName: 'minted' };
  await point('/mcp', call);
  // With an empty key the credential itself would be refused.
  expect(await outcome({ ...call, body: toolCall('delete_repository') })).toEqual(denied('rule'));
  expect((await outcome({ ...call, body: toolCall('get_issue') }))[1]).toBe('EMPTY_TOKEN');
});

test.each([
  ['no list', {}],
  ['an empty list', []],
  ['a rule without paths', [{ tools: ['*'] }]],
  ['a rule of two kinds', [{ methods: ['GET'], tools: ['*'], paths: ['/'] }]],
  ['a misspelt member', [{ methods: ['GET'], paths: ['/'], host: ['a.test'] }]],
  ['a part of a segment', [{ methods: ['GET'], paths: ['/a*'] }]],
  ['a path that no request may have', [{ methods: ['GET'], paths: ['/a/../b'] }]],
])('requests with %s are rejected, and nothing is stored', async (_what, requests) => {
  expect(await store(requests, 'rejected')).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST' } });
  expect(await webhook.storage({ op: 'tokens.get', serviceName: 'rejected' })).toMatchObject({ status: 404 });
});
