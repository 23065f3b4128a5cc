import { afterAll, beforeAll, expect, it } from 'vitest';
import { httpProxyOn } from '../support/http-proxy-steps.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { codeOf, proxyOn } from '../support/proxy-steps.ts';
import { uniqueName } from '../support/unique-name.ts';

// A webhook without the capability `http-proxy` (PROTOCOL.md section 5.2) would take an HTTP API for an MCP server.

const BASIC = { headerTemplates: { authorization: 'Basic ${BASIC:x-access-token}' } };
let service: LinkedService;
beforeAll(async () => {
  service = await startLinkedService();
});
afterAll(() => service.stop());

it('neither a proxy of an HTTP API nor ${BASIC:user} is created or delivered if the webhook does not support it', async () => {
  const early = await httpProxyOn(service, { upstreamUrl: 'https://api.example.com' });
  const git = await proxyOn(service, BASIC);
  await service.bind();
  await service.admin('GET', '/api/webhook');
  for (const settings of [{ kind: 'http' }, BASIC]) {
    const body = { name: uniqueName('late'), upstreamUrl: 'https://api.example.com', serviceName: 'github' };
    const late = await service.admin('POST', '/api/proxies', {
      body: { ...body, ...settings, allowMissing: true },
    });
    expect(codeOf(late)).toEqual([422, 'INVALID_ARGUMENT']);
    expect(late.text).toContain('http-proxy');
  }
  const answers = [await early.ask('/user'), await git.send('tools/list')];
  for (const { status, text } of answers) {
    expect([status, JSON.parse(text)]).toMatchObject([502, { code: 'WEBHOOK_UNAVAILABLE' }]);
    expect(text).toContain('http-proxy');
  }
  expect(service.webhook.served.map(({ op }) => op)).not.toContain('proxies.put');
});
