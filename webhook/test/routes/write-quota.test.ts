/** A compromised control plane has the right key, and writes as much as it can. */
import { expect, it } from 'vitest';
import { webhookOfTest } from '../support/bound-webhook.ts';

const MIB = 1024 * 1024;
const PLAIN = { tokenType: 'PlainText', value: 'x' };

it('writes of records are answered with 429 after 64 MiB, until Retry-After has passed, and are counted', async () => {
  const webhook = await webhookOfTest({ env: { SV_METRICS_LISTEN: '127.0.0.1:0' } });
  const large = ' '.repeat(MIB);
  // A ticket permits one body, valid or not, and that is counted.
  for (let sent = 0; sent < 63; sent += 1) expect((await webhook.store('doc', large)).status).toBe(400);
  expect((await webhook.store('doc', PLAIN)).status).toBe(200);
  const text = JSON.stringify({ ...PLAIN, value: 'y'.repeat(60_000) });
  while ((await webhook.store('doc', text)).status === 200);
  const refused = await webhook.store('doc', large);
  const { retryAfter } = refused.json;
  expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([
    429,
    'RATE_LIMITED',
    String(retryAfter),
  ]);
  const header = 'y'.repeat(4_000);
  const headerTemplates = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`x-${n}`, header]));
  const proxy = { proxyId: 'prx_A', serviceName: 'doc', upstreamUrl: 'https://mcp.test/', headerTemplates };
  const event = { id: 'e', eventType: 'X', timestamp: '2026-11-20T12:00:00Z', outcome: 'success' };
  const batch = [
    { op: 'proxies.put', ...proxy },
    { op: 'audit.append', events: [event] },
    { op: 'tokens.get', serviceName: 'doc' },
  ];
  expect((await webhook.storage({ batch })).json.results).toMatchObject([
    { code: 'RATE_LIMITED', retryAfter: expect.any(Number) },
    { accepted: 1 },
    { serviceName: 'doc' },
  ]);
  const metrics = await (await fetch(`${webhook.metricsUrl}/metrics`)).text();
  expect(metrics.match(/^svault_webhook_write_quota_denials_total.*$/gm)).toEqual([
    'svault_webhook_write_quota_denials_total{kind="audit"} 0',
    'svault_webhook_write_quota_denials_total{kind="records"} 3',
  ]);
  webhook.clock.advance(retryAfter * 1_000);
  expect((await webhook.store('doc', large)).status).toBe(400);
});
