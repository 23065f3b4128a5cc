import { type IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { buffer } from 'node:stream/consumers';
import { type TestApprover, enrolApprover } from '@svault/test-kit/approver';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { type HttpAnswer, type HttpProxy, httpProxyOn } from '../support/http-proxy-steps.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { policySteps } from '../support/policy-calls.ts';
import { type TestProxy, proxyOn, sessionSettings } from '../support/proxy-steps.ts';

// Proxied calls with a credential whose record asks for an approval of each call.

let service: PairedService;
let approver: TestApprover;
let upstream: PlainUpstream;
let http: HttpProxy;
let mcp: TestProxy;
let seen: { url: string | undefined; headers: IncomingHttpHeaders; body: string }[];
const MINUTE_MS = 60_000;

beforeAll(async () => {
  upstream = await startPlainUpstream(async (req, res) => {
    seen.push({ url: req.url, headers: req.headers, body: (await buffer(req)).toString() });
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
  service = await startPairedService();
  approver = await enrolApprover(service.pair);
  const owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  const record = {
    tokenType: 'PlainText',
    value: 'canary/of a credential: 100%',
    allowedHosts: [upstream.origin],
  };
  const approval = { by: 'passkey', for: ['proxy'], standingSeconds: 3_600 };
  await storeOn(service.pair, 'api', { ...record, approval });
  await storeOn(service.pair, 'tools', { ...record, approval, requests: [{ mcp: ['*'], paths: ['/mcp'] }] });
  http = await httpProxyOn(owner, { serviceName: 'api', upstreamUrl: upstream.origin });
  mcp = await proxyOn(owner, { serviceName: 'tools', upstreamUrl: upstream.url });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});
beforeEach(() => {
  service.clock.advance(20 * MINUTE_MS);
  seen = [];
});

const pay = (body: string, headers = {}): Promise<HttpAnswer> =>
  http.ask('/pay?to=a', {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${http.key}`, 'content-type': 'application/json', ...headers },
  });
const approvalIn = ({ status, text, headers }: HttpAnswer) => {
  const { code, approval } = JSON.parse(text) as {
    code: string;
    approval: { id: string; status: string; url: string };
  };
  expect([status, code, headers['retry-after']]).toEqual([403, 'APPROVAL_REQUIRED', '5']);
  return approval;
};

describe('a call of an HTTP API with a sealed approval', () => {
  test('is not made before it is approved, and then once, byte for byte', async () => {
    const { id, url, status } = approvalIn(await pay('{"sum":1}'));
    expect([status, seen]).toEqual(['pending', []]);
    const { json } = await service.admin('GET', `/api/approvals/${id}`);
    expect(json).toMatchObject({ kind: 'passkey', proxyId: http.id, request: { method: 'POST' } });
    expect(json.request.url).toBe(`${upstream.origin}/pay`);
    await approver.decide(url);
    expect(approvalIn(await pay('{"sum":2}')).id).not.toBe(id);
    expect((await pay('{"sum":1}')).status).toBe(200);
    expect(seen).toMatchObject([{ url: '/pay?to=a', body: '{"sum":1}' }]);
    expect(approvalIn(await pay('{"sum":1}')).id).not.toBe(id);
  });

  test('is made once it was approved while it waited, and neither header reaches the upstream', async () => {
    const asking = pay('{"sum":3}', { 'sv-wait': '30', 'sv-reason': 'gr%C3%BCn' });
    const open = await pending(http.id);
    expect(open.reason).toBe('grün');
    await approver.decide(open.url);
    expect((await asking).status).toBe(200);
    expect(seen).toHaveLength(1);
    expect(Object.keys(seen[0]?.headers ?? {}).filter((name) => name.startsWith('sv-'))).toEqual([]);
  });

  test('is asked for by its digest where its body is long', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(40_000) });
    const { url } = approvalIn(await pay(body));
    await approver.decide(url);
    expect((await pay(body)).status).toBe(200);
    expect(seen[0]?.body).toBe(body);
  });

  test('stays denied where somebody denied it', async () => {
    const { id, url } = approvalIn(await pay('{"sum":4}'));
    await approver.decide(url, 'deny');
    expect(approvalIn(await pay('{"sum":4}'))).toMatchObject({ id, status: 'denied' });
  });

  test('is not understood with another sv-wait or sv-reason', async () => {
    for (const headers of [
      { 'sv-wait': '31' },
      { 'sv-wait': 'a' },
      { 'sv-reason': '%FF' },
      { 'sv-reason': '%00' },
      { 'sv-reason': 'gr\u00fcn' },
      { 'sv-reason': '%ED%A0%80' },
      { 'sv-reason': '' },
      { 'sv-reason': 'x'.repeat(501) },
    ]) {
      const { status, text } = await pay('{}', headers);
      expect([status, (JSON.parse(text) as { code: string }).code]).toEqual([400, 'INVALID_REQUEST']);
    }
  });
});

describe('a tool of an MCP server with a sealed approval', () => {
  const callTool = (name: string, id: unknown) => mcp.send('tools/call', { name, arguments: { n: 1 } }, id);

  test('is called once its call was approved, whatever number the client gives the call', async () => {
    expect((await mcp.send('tools/list')).status).toBe(200);
    const denied = await callTool('pay', 1);
    expect([denied.status, denied.json.code]).toEqual([403, 'APPROVAL_REQUIRED']);
    await approver.decide(denied.json.approval.url);
    expect((await callTool('pay', 2)).status).toBe(200);
    expect((await callTool('pay', 3)).json.code).toBe('APPROVAL_REQUIRED');
    const { json } = await service.admin('GET', `/api/approvals/${denied.json.approval.id}`);
    expect(json.request.tool).toBe('pay');
  });

  test('is called as often as an allowance for it permits', async () => {
    const denied = await callTool('read', 1);
    await approver.decide(denied.json.approval.url, 'approve', 'standing:600');
    for (const id of [2, 3, 4]) expect((await callTool('read', id)).status).toBe(200);
    service.clock.advance(10 * MINUTE_MS);
    expect((await callTool('read', 5)).json.code).toBe('APPROVAL_REQUIRED');
  });
});

test('a call that a policy holds back is made once a member approved it while it waited', async () => {
  const record = {
    tokenType: 'PlainText',
    value: 'canary/of another: 100%',
    allowedHosts: [upstream.origin],
  };
  await storeOn(service.pair, 'plain', record);
  const owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  const held = await httpProxyOn(owner, { serviceName: 'plain', upstreamUrl: upstream.origin });
  const { make, attach } = policySteps(() => service.pair);
  const target = { targetType: 'proxy', targetId: held.id } as const;
  await attach(await make('people decide', { type: 'manual_approval' }), target);
  const headers = { authorization: `Bearer ${held.key}`, 'sv-wait': '30' };
  const asking = held.ask('/x', { headers });
  const { id } = await pending(held.id);
  await service.admin('POST', `/api/approvals/${id}/approve`);
  expect((await asking).status).toBe(200);
  expect(seen.map(({ url }) => url)).toEqual(['/x']);
});

describe('a call of a tool that a policy holds back', () => {
  let held: TestProxy;
  beforeAll(async () => {
    await storeOn(service.pair, 'named', {
      ...{ tokenType: 'PlainText', value: 'canary/of a third: 100%', allowedHosts: [upstream.origin] },
    });
    const owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
    held = await proxyOn(owner, { serviceName: 'named', upstreamUrl: upstream.url });
    const { make, attach } = policySteps(() => service.pair);
    const policy = await make('people decide', { type: 'manual_approval' });
    await attach(policy, { targetType: 'proxy', targetId: held.id });
  });

  test('is put before people with the beginning of its name, however long that is', async () => {
    const name = '\u202e<b>'.repeat(20_000);
    const { id } = (await held.send('tools/call', { name, arguments: {} })).json.approval;
    const { request } = (await service.admin('GET', `/api/approvals/${id}`)).json;
    expect(request.tool).toBe(`${name.slice(0, 200)}…`);
    // Another name with that beginning is another call.
    const other = await held.send('tools/call', { name: `${name}!`, arguments: {} });
    expect(other.json.approval.id).not.toBe(id);
  });

  test('is denied, and put before nobody, where it has two readings', async () => {
    const rawBody = '{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}';
    const denied = await held.call('POST', {
      rawBody,
      headers: { 'content-type': 'application/json' },
    });
    expect(denied.json).toMatchObject({
      code: 'POLICY_DENIED',
      reason: expect.stringContaining('two readings'),
    });
    expect(denied.json.approval).toBeUndefined();
  });
});

test('a call of a proxy that uses no credential is held back, and the webhook takes the log of it', async () => {
  const { json } = await service.admin('POST', '/api/agents', { body: { name: 'of sessions' } });
  const owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  const held = await proxyOn(owner, sessionSettings(json.agent.id, upstream.url));
  const { make, attach } = policySteps(() => service.pair);
  const policy = await make('people decide', { type: 'manual_approval' });
  await attach(policy, { targetType: 'proxy', targetId: held.id });
  const { approval } = (await held.send('tools/call', { name: 'pay' })).json;
  expect(approval.status).toBe('pending');
  await service.admin('POST', `/api/approvals/${approval.id}/approve`);
  const log = await service.admin('GET', `/api/audit?proxyId=${held.id}`);
  const events = log.json.items as { eventType: string; serviceName?: string }[];
  expect(events.map(({ eventType, serviceName }) => [eventType, serviceName])).toEqual(
    expect.arrayContaining([
      ['APPROVAL_REQUESTED', undefined],
      ['APPROVAL_APPROVED', undefined],
    ]),
  );
  const isTaken = async () => {
    // A call that the clock of other tests overtook is made again later.
    service.clock.advance(10_000);
    const { newest, acknowledged } = (await service.admin('GET', '/api/webhook')).json.log;
    return newest === acknowledged;
  };
  await expect.poll(isTaken).toBe(true);
});

async function pending(
  proxyId: string,
): Promise<{ readonly id: string; readonly url: string; readonly reason: string }> {
  for (;;) {
    const { json } = await service.admin('GET', '/api/approvals?status=pending');
    const [found] = json.items.filter((item: { proxyId?: string }) => item.proxyId === proxyId);
    if (found !== undefined) return found;
    await delay(10);
  }
}
