import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { clientOf } from '../support/management-service.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { proxyOn } from '../support/proxy-steps.ts';
import type { LoggedEvent, TestAgent } from '../support/service-steps.ts';

let service: PairedService;
beforeAll(async () => {
  // By hand: a job that calls the stopped webhook first would have the next call refused before it has a ticket.
  service = await startPairedService({ startJob: jobsByHand().startJob });
});
afterAll(() => service.stop());

const deliveriesOf = async ({ id }: TestAgent): Promise<unknown[]> => {
  const events = await service.log(`&agentId=${id}&eventType=AGENT_CREDENTIAL_ACCESS&delivery=true`);
  return events.map((event) => (event as LoggedEvent & { delivery?: unknown }).delivery);
};

const fetchFor = async (agent: TestAgent, serviceName: string): Promise<number> => {
  const { headers } = await agent.get(serviceName);
  return (await clientOf(headers.get('location') ?? '')('GET', '')).status;
};

test('the log tells an issued ticket that was used from one that failed and one that nobody fetched', async () => {
  const body = { serviceName: 'github', tokenType: 'PlainText' };
  const { url, ticket } = (await service.admin('POST', '/api/tokens', { body })).json.store;
  const secret = { tokenType: 'PlainText', value: 'canary' };
  const bearer = { authorization: `Bearer ${ticket}` };
  expect((await clientOf(url, bearer)('POST', '', { body: secret })).status).toBe(200);
  const agent = await service.agent('github', 'empty');
  expect(await fetchFor(agent, 'github')).toBe(200);
  expect(await fetchFor(agent, 'empty')).toBe(404);
  await agent.get('github');
  await agent.get('unknown');
  const at = expect.any(String);
  const used = [
    { status: 'failed', code: 'NOT_FOUND', at },
    { status: 'delivered', at },
  ];
  expect(await deliveriesOf(agent)).toEqual([undefined, { status: 'pending' }, ...used]);
  service.clock.advance(120_000);
  expect(await deliveriesOf(agent)).toEqual([undefined, { status: 'not_fetched' }, ...used]);
  const plain = await service.log(`&agentId=${agent.id}`);
  expect(plain.some((event) => 'delivery' in event)).toBe(false);
});

test('a proxied call that the webhook refused reads as failed', async () => {
  const proxy = await proxyOn({ running: { url: service.pair.controlPlaneUrl() }, admin: service.admin });
  expect((await proxy.send('tools/call', {})).status).toBe(502);
  const [event] = await service.log('&eventType=PROXY_CREDENTIAL_USE&delivery=true');
  const delivery = { status: 'failed', code: 'DESTINATION_NOT_ALLOWED', at: expect.any(String) };
  expect(event).toMatchObject({ outcome: 'success', proxyId: proxy.id, delivery });
});

test('a proxied call whose upstream did not answer, or rejected the credential, reads as failed, and one that was answered as delivered', async () => {
  const answers = [401, 0, 200];
  const upstream = await startPlainUpstream((_req, res) => {
    const status = answers.shift();
    if (status === 0) res.destroy();
    else res.writeHead(status ?? 500).end();
  });
  onTestFinished(() => upstream.close());
  const secret = { tokenType: 'PlainText', value: 'canary of 16 chars', allowedHosts: [upstream.origin] };
  await storeOn(service.pair, 'called', secret);
  const owner = { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin };
  const proxy = await proxyOn(owner, { serviceName: 'called', upstreamUrl: upstream.url });
  const texts: string[] = [];
  for (let call = 0; call < 3; call += 1) texts.push((await proxy.send('tools/call', {})).json?.error);
  expect(texts[1]).toBe(
    `The webhook got no answer from ${new URL(upstream.url).host}: the connection was cut.`,
  );
  const events = await service.log(`&serviceName=called&eventType=PROXY_CREDENTIAL_USE&delivery=true`);
  const at = expect.any(String);
  expect(
    events
      .filter(({ outcome }) => outcome === 'success')
      .map((event) => 'delivery' in event && event.delivery),
  ).toEqual([
    { status: 'delivered', at },
    { status: 'failed', code: 'UPSTREAM_ERROR', at },
    { status: 'failed', code: 'UPSTREAM_UNAUTHORIZED', at },
  ]);
});

test('a proxied call that never reached the webhook is pending while its ticket holds, then failed, and nothing that somebody could fetch', async () => {
  const proxy = await proxyOn(
    { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin },
    { serviceName: 'unreached' },
  );
  const deliveryNow = async () => {
    const [event] = await service.log('&serviceName=unreached&eventType=PROXY_CREDENTIAL_USE&delivery=true');
    return (event as LoggedEvent & { delivery?: unknown }).delivery;
  };
  await service.pair.stop('webhook');
  expect((await proxy.send('tools/call', {})).json?.code).toBe('WEBHOOK_UNAVAILABLE');
  expect(await deliveryNow()).toEqual({ status: 'unknown' });
  await service.pair.start('webhook');
  await service.admin('POST', '/api/webhook/probe');
  expect(await deliveryNow()).toEqual({ status: 'pending' });
  service.clock.advance(120_000);
  expect(await deliveryNow()).toEqual({ status: 'failed', code: 'WEBHOOK_UNAVAILABLE' });
});

test('what became of a ticket is unknown once its webhook is unbound', async () => {
  const agent = await service.agent('github');
  await fetchFor(agent, 'github');
  await service.admin('DELETE', '/api/webhook');
  expect(await deliveriesOf(agent)).toEqual([{ status: 'unknown' }]);
});
