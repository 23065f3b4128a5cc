import { expect, test } from 'vitest';
import { type Answer, clientOf } from '../support/management-service.ts';
import { type TestAgent, stepsOn } from '../support/service-steps.ts';
import { uniqueName } from '../support/unique-name.ts';
import { useService } from '../support/use-service.ts';

const service = useService();
const steps = () => stepsOn(service.running.url, service.admin);
const proxiesOf = ({ apiKey }: Pick<TestAgent, 'apiKey'>, method = 'GET'): Promise<Answer> =>
  clientOf(service.running.url, { authorization: `Bearer ${apiKey}` })(method, '/api/agents/proxies');

const UPSTREAM = { upstreamUrl: 'https://api.example.com', serviceName: 'github', allowMissing: true };
async function proxyFor(agentId: string): Promise<{ id: string; name: string; key: string }> {
  const body = { ...UPSTREAM, name: uniqueName('api'), agentId };
  const { proxy, key } = (await service.admin('POST', '/api/proxies', { body })).json;
  return { ...proxy, key };
}

test('GET /api/agents/proxies lists only the active proxies of the agent, and logs each revealed key', async () => {
  const [agent, other] = [await steps().agent(), await steps().agent()];
  const [first, revoked, second] = [
    await proxyFor(agent.id),
    await proxyFor(agent.id),
    await proxyFor(agent.id),
  ];
  await proxyFor(other.id);
  await service.admin('POST', `/api/proxies/${revoked.id}/revoke`);
  const { status, json } = await proxiesOf(agent);
  expect([status, json.items]).toEqual([
    200,
    expect.arrayContaining(
      [first, second].map(({ name, key }) => ({
        ...{ name, key, kind: 'mcp', serviceName: 'github' },
        upstreamUrl: UPSTREAM.upstreamUrl,
        address: expect.stringMatching(/\/api\/proxy\/mcp$/),
      })),
    ),
  ]);
  expect(json.items).toHaveLength(2);
  const events = await steps().log(`&agentId=${agent.id}&eventType=KEY_REVEALED`);
  expect(new Set(events.map(({ proxyId }) => proxyId))).toEqual(new Set([first.id, second.id]));
  expect(events).toHaveLength(2);
  expect(events[0]).toMatchObject({
    ...{ agentId: agent.id, serviceName: 'github', outcome: 'success' },
    origin: { channel: 'rest', authenticatedBy: expect.stringMatching(/^svagent_/) },
  });
});

test('a suspended agent, a rotated key, the key of a proxy and a missing key are denied', async () => {
  const agent = await steps().agent();
  const { key } = await proxyFor(agent.id);
  await service.admin('POST', `/api/agents/${agent.id}/suspend`);
  expect(await proxiesOf(agent)).toMatchObject({ status: 403, json: { code: 'AGENT_INACTIVE' } });
  await service.admin('POST', `/api/agents/${agent.id}/resume`);
  await service.admin('POST', `/api/agents/${agent.id}/rotate-key`);
  expect(await proxiesOf(agent)).toMatchObject({ status: 403, json: { code: 'INVALID_KEY' } });
  expect(await proxiesOf({ apiKey: key })).toMatchObject({ status: 403, json: { code: 'INVALID_KEY' } });
  expect(await proxiesOf({ apiKey: '' })).toMatchObject({ status: 401, json: { code: 'MISSING_KEY' } });
});

test('POST /api/agents/proxies answers 405', async () => {
  const agent = await steps().agent();
  expect(await proxiesOf(agent, 'POST')).toMatchObject({ status: 405 });
});

test('reading proxies counts as a request for a credential', async () => {
  const agent = await steps().agent();
  for (let n = 0; n < 60; n += 1) expect((await proxiesOf(agent)).status).toBe(200);
  expect(await proxiesOf(agent)).toMatchObject({ status: 429, json: { code: 'RATE_LIMITED' } });
});
