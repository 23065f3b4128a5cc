import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type TestProxy, codeOf, proxyOn } from '../support/proxy-steps.ts';

// Both hops with the reference webhook (PROTOCOL.md section 5.7).

let service: PairedService;
let proxy: TestProxy;
let upstream: PlainUpstream;
let seen: string[];

beforeAll(async () => {
  seen = [];
  upstream = await startPlainUpstream(async (req, res) => {
    seen.push(String(await buffer(req)));
    const tools = ['get_issue', 'delete_repository'].map((name) => ({ name }));
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } });
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  });
  service = await startPairedService();
  await storeOn(service.pair, 'github', {
    tokenType: 'PlainText',
    value: 'tkn_0123456789_of_an_upstream',
    allowedHosts: [upstream.origin],
    requests: [{ tools: ['get_*'], paths: [new URL(upstream.url).pathname] }],
  });
  const owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  proxy = await proxyOn(owner, { upstreamUrl: upstream.url });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });

it('a tool that the owner of a credential allows is called, and no other is in the list of tools', async () => {
  const called = await proxy.call('POST', { body: message('tools/call', { name: 'get_issue' }) });
  expect(called.status).toBe(200);
  const listed = await proxy.call('POST', { body: message('tools/list') });
  expect(listed.status).toBe(200);
  expect(JSON.parse(listed.text)).toMatchObject({ result: { tools: [{ name: 'get_issue' }] } });
});

it('another request is denied with 403 REQUEST_NOT_ALLOWED, and the agent reads why', async () => {
  const before = seen.length;
  const denied = await proxy.call('POST', { body: message('tools/call', { name: 'delete_repository' }) });
  expect(codeOf(denied)).toEqual([403, 'REQUEST_NOT_ALLOWED']);
  expect(denied.text).toContain('No request rule of `github` allows this request');
  const twoReadings = await proxy.call('POST', {
    rawBody: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}'),
  });
  expect(codeOf(twoReadings)).toEqual([403, 'REQUEST_NOT_ALLOWED']);
  expect(twoReadings.text).toContain('The request has two readings');
  expect(seen).toHaveLength(before);
});
