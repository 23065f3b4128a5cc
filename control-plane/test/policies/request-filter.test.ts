import type { RequestRule } from '@svault/shared/request-rules';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { agentOn, storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type Target, policySteps } from '../support/policy-calls.ts';
import { type TestProxy, codeOf, message, proxyOn, sessionSettings } from '../support/proxy-steps.ts';

// `request_filter` as a proxy's client and its owner meet it, with the reference webhook. What its rules match is tested by
// the vectors in src/policies.

let service: PairedService;
let upstream: PlainUpstream;
let proxy: TestProxy;
let calls: number;
const { make, attach, change } = policySteps(() => service.pair);

beforeAll(async () => {
  upstream = await startPlainUpstream((_req, res) => {
    calls++;
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
  });
  service = await startPairedService();
  await storeOn(service.pair, 'github', {
    tokenType: 'PlainText',
    value: 'tkn_0123456789_of_an_upstream',
    allowedHosts: [upstream.origin],
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});
beforeEach(async () => {
  calls = 0;
  proxy = await proxyHere({ upstreamUrl: upstream.url });
});

const proxyHere = (settings: object): Promise<TestProxy> =>
  proxyOn({ running: { url: service.pair.controlPlaneUrl() }, admin: service.admin }, settings);
const path = (): string => new URL(upstream.url).pathname;
const toProxy = ({ id }: TestProxy): Target => ({ targetType: 'proxy', targetId: id });
const toolsOnly = (): RequestRule => ({
  tools: ['get_*'],
  paths: [path()],
  arguments: { '/repo': ['site'] },
});

async function filtered(target: Target, ...requests: RequestRule[]): Promise<string> {
  const id = await make('reads only', { type: 'request_filter', requests });
  await attach(id, target);
  return id;
}
const call = (name: string, repo: string) => message('tools/call', { name, arguments: { repo } }, 1);
const newestEvent = async (): Promise<{ readonly detail: object }> =>
  (await service.admin('GET', `/api/audit?limit=1&proxyId=${proxy.id}`)).json.items[0];

test('a proxied call is allowed where a rule matches it, and the log says by which pattern and with which tool', async () => {
  await filtered(toProxy(proxy), toolsOnly());
  expect((await proxy.call('POST', { body: call('get_issue', 'site') })).status).toBe(200);
  expect(await newestEvent()).toMatchObject({
    outcome: 'success',
    detail: { method: 'POST', path: path(), tool: 'get_issue' },
  });
  expect((await proxy.call('POST', { body: message('tools/list', {}, 1) })).status).toBe(200);
  expect(calls).toBe(2);
});

test('another call is denied with POLICY_DENIED before the webhook, and neither answer nor log has a value of it', async () => {
  await filtered(toProxy(proxy), toolsOnly());
  const answer = await proxy.call('POST', { body: call('get_issue', 'needle') });
  expect(codeOf(answer)).toEqual([403, 'POLICY_DENIED']);
  expect(answer.json).toMatchObject({
    ...{ policy: 'reads only', rule: 'request_filter' },
    reason: 'It is not available for this tool, or not with these arguments.',
  });
  const event = await newestEvent();
  expect(event).toMatchObject({
    outcome: 'denied',
    detail: {
      ...{ code: 'POLICY_DENIED', policy: 'reads only', rule: 'request_filter' },
      ...{ method: 'POST', tool: 'get_issue', cause: 'rule' },
    },
  });
  expect(answer.text + JSON.stringify(event)).not.toContain('needle');
  expect(calls).toBe(0);
});

const JSON_TYPE = { 'content-type': 'application/json' };
test.each<readonly [string, Parameters<TestProxy['call']>[1], string]>([
  [
    'a name twice',
    { rawBody: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","method":"a"}'), headers: JSON_TYPE },
    'json',
  ],
  [
    'a name in another case',
    { rawBody: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","Method":"a"}'), headers: JSON_TYPE },
    'member_case',
  ],
  ['a batch', { body: [message('ping', {}, 1)] }, 'json'],
  [
    'another charset',
    {
      body: message('ping', {}, 1),
      headers: { 'content-type': 'application/json; charset=utf-7' },
    },
    'content_type',
  ],
  [
    'a header that says something else',
    { body: message('ping', {}, 1), headers: { 'mcp-method': 'tools/call' } },
    'mcp_header',
  ],
])('a request with two readings is denied: %s', async (_what, options, cause) => {
  await filtered(toProxy(proxy), toolsOnly(), { mcp: ['*'], paths: ['/**'] });
  const answer = await proxy.call('POST', options);
  expect(codeOf(answer)).toEqual([403, 'POLICY_DENIED']);
  expect(answer.json.reason).toContain('The request has two readings');
  expect(await newestEvent()).toMatchObject({ detail: { rule: 'request_filter', cause } });
  expect(calls).toBe(0);
});

test('the path is the one of the upstream, and a header that a template sets is looked at', async () => {
  await filtered(toProxy(proxy), { methods: ['GET'], paths: ['/elsewhere'] });
  expect(codeOf(await proxy.call('GET'))).toEqual([403, 'POLICY_DENIED']);
  await service.admin('PATCH', `/api/proxies/${proxy.id}`, {
    body: { upstreamUrl: `${upstream.origin}/elsewhere` },
  });
  expect((await proxy.call('GET')).status).toBe(200);
  const overriding = await proxyHere({
    upstreamUrl: `${upstream.origin}/elsewhere`,
    headerTemplates: { 'x-http-method-override': '${TOKEN}' },
  });
  await filtered(toProxy(overriding), { methods: ['GET'], paths: ['/elsewhere'] });
  expect((await overriding.call('GET')).json.reason).toContain('The request has two readings');
});

test('a proxy that sends sessions is filtered as others are', async () => {
  const { id } = await agentOn(service.pair);
  const session = await proxyHere(sessionSettings(id, upstream.url));
  await filtered(toProxy(session), toolsOnly());
  expect((await session.call('POST', { body: call('get_issue', 'docs') })).json).toMatchObject({
    rule: 'request_filter',
  });
});

test('no agent gets a credential itself where a request_filter is on it, by REST or by MCP, and its proxies are filtered', async () => {
  await storeOn(service.pair, 'npm', {
    tokenType: 'PlainText',
    value: 'tkn_0123456789_of_an_upstream',
    allowedHosts: [upstream.origin],
  });
  const agent = await agentOn(service.pair, 'npm');
  expect((await agent.ask('npm')).status).toBe(307);
  const id = await filtered({ targetType: 'token', targetId: 'npm' }, { methods: ['GET'], paths: ['/**'] });
  expect((await agent.ask('npm')).json).toMatchObject({
    ...{ code: 'POLICY_DENIED', rule: 'request_filter' },
    reason: expect.stringContaining('available through proxies only'),
  });
  const npm = await proxyHere({ upstreamUrl: upstream.url, serviceName: 'npm' });
  expect((await npm.call('GET')).status).toBe(200);
  expect(codeOf(await npm.call('POST', { body: call('get_issue', 'site') }))).toEqual([403, 'POLICY_DENIED']);
  await change(id, { enabled: false });
  expect((await agent.ask('npm')).status).toBe(307);
});

test('a simulation decides about a request that is named, as the next call is decided, and cannot tell of another', async () => {
  await filtered(toProxy(proxy), toolsOnly(), { methods: ['GET'], paths: ['/repos/acme/*'] });
  const simulate = async (more: object) =>
    (
      await service.admin('POST', '/api/policies/simulate', {
        body: { proxyId: proxy.id, serviceName: 'github', ...more },
      })
    ).json;
  expect(await simulate({})).toMatchObject({ decision: 'unknown', rules: [{ allowed: null }] });
  expect(await simulate({ call: { path: '/repos/acme/site' } })).toMatchObject({ decision: 'allowed' });
  expect(await simulate({ call: { path: '/repos/acme/..' } })).toMatchObject({
    decision: 'denied',
    denial: { rule: 'request_filter', reason: expect.stringContaining('dot segment') },
    rules: [{ allowed: false }],
  });
  for (const repo of ['site', 'docs']) {
    const { denial } = await simulate({ call: { tool: 'get_issue', arguments: { repo } } });
    const { status, json } = await proxy.call('POST', { body: call('get_issue', repo) });
    expect([status, json.reason]).toEqual([denial === undefined ? 200 : 403, denial?.reason]);
  }
  expect(await simulate({ call: { mcpMethod: 'resources/read' } })).toMatchObject({ decision: 'denied' });
  const other = await make('never', { type: 'manual_approval' });
  await attach(other, toProxy(proxy));
  expect(await simulate({})).toMatchObject({ decision: 'denied', denial: { rule: 'manual_approval' } });
});

test('a preview cannot tell of proxied requests, and denies those of agents', async () => {
  const agent = await agentOn(service.pair, 'github');
  await agent.ask('github');
  await proxy.call('GET');
  const rules = [{ type: 'request_filter', requests: [toolsOnly()] }];
  const preview = async (...attachments: Target[]) =>
    (await service.admin('POST', '/api/policies/preview', { body: { name: 'draft', rules, attachments } }))
      .json;
  expect(await preview(toProxy(proxy))).toMatchObject({ denied: 0, unknown: 1 });
  expect(await preview({ targetType: 'agent', targetId: agent.id })).toMatchObject({ denied: 1, unknown: 0 });
});
