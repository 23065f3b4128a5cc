import { newKey } from '@svault/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { byHand } from '../support/http-by-hand.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { PROXY, type TestProxy, proxyOn } from '../support/proxy-steps.ts';

// A request that every check of a proxy denies gets the first denial of the specification's order. The test removes one
// cause after the other, from the front.

let service: LinkedService;
let proxy: TestProxy;
let policyId: string;
let agentId: string;
beforeAll(async () => {
  service = await startLinkedService({ SV_LIMIT_PROXY_MCP: '20' });
  ({ id: agentId } = await service.agent());
  proxy = await proxyOn(service, { agentId });
  const rules = [{ type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] }];
  policyId = (await service.admin('POST', '/api/policies', { body: { name: 'office', rules } })).json.id;
  const target = { targetType: 'proxy', targetId: proxy.id };
  await service.admin('POST', `/api/policies/${policyId}/attachments`, { body: target });
  await service.admin('POST', '/api/vault/lock');
});
afterAll(() => service.stop());

interface Sent {
  method: string;
  headers: Record<string, string>;
  body: string;
}

test('a proxied request is denied in the order of the specification', async () => {
  const sent: Sent = {
    method: 'PUT',
    headers: { host: 'evil.example', origin: 'https://evil.example', 'content-type': 'application/json' },
    body: 'x'.repeat(8 * 1024 * 1024 + 1),
  };
  const said = async (): Promise<string> => {
    const { method, headers, body } = sent;
    const answer = await byHand(service.running.url + PROXY, {
      method,
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      chunks: [body],
    });
    const json = JSON.parse(answer.text) as { code?: string; error?: { data?: { code: string } } };
    return `${answer.status} ${json.code ?? json.error?.data?.code}`;
  };
  const steps: readonly (readonly [said: string, thenTakeAway: () => unknown])[] = [
    ['405 METHOD_NOT_ALLOWED', () => (sent.method = 'POST')],
    ['403 FORBIDDEN', () => delete sent.headers['host']],
    ['403 FORBIDDEN', () => delete sent.headers['origin']],
    ['401 MISSING_KEY', () => (sent.headers['x-mcp-key'] = 'mcp_short')],
    ['403 INVALID_KEY', () => (sent.headers['x-mcp-key'] = newKey('mcp'))],
    // A declared length over the maximum is denied before the key is read.
    ['413 TOO_LARGE', () => (sent.body = 'x'.repeat(70_000))],
    ['403 INVALID_KEY', () => (sent.headers['x-mcp-key'] = proxy.key)],
    [
      '423 VAULT_LOCKED',
      async () => {
        await service.admin('POST', '/api/vault/unlock');
        await service.admin('POST', `/api/agents/${agentId}/suspend`);
      },
    ],
    ['403 AGENT_INACTIVE', () => (sent.body = '{}')],
    [
      '403 AGENT_INACTIVE',
      async () => {
        await service.admin('POST', `/api/agents/${agentId}/resume`);
        await service.admin('POST', '/api/vault/lock');
        await Promise.all(Array.from({ length: 21 }, () => proxy.call('GET')));
      },
    ],
    ['429 RATE_LIMITED', () => service.clock.advance(60_000)],
    ['423 VAULT_LOCKED', () => service.admin('POST', '/api/vault/unlock')],
    ['403 POLICY_DENIED', () => service.admin('DELETE', `/api/policies/${policyId}`)],
    [
      '502 WEBHOOK_NOT_CONFIGURED',
      async () => {
        await service.bind();
        service.webhook.fault = (path) => (path === '/v1/proxy' ? 'break' : undefined);
        // The first request finds out.
        await said();
      },
    ],
    [
      '502 WEBHOOK_UNAVAILABLE',
      async () => {
        service.webhook.fault = undefined;
        await service.admin('GET', '/api/webhook');
      },
    ],
  ];
  for (const [expected, takeAway] of steps) {
    expect(await said()).toBe(expected);
    await takeAway();
  }
  expect((await proxy.send('tools/call')).status).toBe(200);
});
