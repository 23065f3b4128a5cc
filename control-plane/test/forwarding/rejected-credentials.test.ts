import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { type TestProxy, codeOf, proxyOn } from '../support/proxy-steps.ts';

// A credential that an upstream rejects is marked for its owner, by one write.

let service: LinkedService;
let proxy: TestProxy;
let status: number;
let made = 0;
let serviceName: string;

beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
  service.webhook.onProxy = (_call, res) =>
    void res.writeHead(status, { 'sv-proxy-origin': 'upstream' }).end('said');
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.clock.advance(60_000);
  made += 1;
  serviceName = `rejected-${made}`;
  const body = { serviceName, tokenType: 'PlainText' };
  expect((await service.admin('POST', '/api/tokens', { body })).status).toBe(201);
  proxy = await proxyOn(service, { serviceName });
  service.webhook.tokens.clear();
});

const ask = async (answered: number) => {
  status = answered;
  return codeOf(await proxy.send('tools/call'));
};
const rejectedAt = async (): Promise<unknown> =>
  (await service.admin('GET', `/api/tokens/${serviceName}`)).json.upstreamRejectedAt;
const events = () =>
  service.place.state.rows<{ detail: string | null; outcome: string; proxy_id: string }>(
    `SELECT outcome, detail, proxy_id FROM audit_events
     WHERE event_type = 'PROXY_CREDENTIAL_USE' AND outcome = 'error' AND service_name = '${serviceName}'`,
  );

it('a 401 of the upstream marks the credential once, with one event, however many calls get it', async () => {
  expect(await rejectedAt()).toBeUndefined();
  const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => ask(401)));
  expect(first).toEqual([502, 'UPSTREAM_UNAUTHORIZED']);
  expect(new Set(others.map(String))).toEqual(new Set([String(first)]));
  const at = new Date(service.clock.now()).toISOString();
  expect(await rejectedAt()).toBe(at);
  service.clock.advance(1_000);
  await ask(401);
  expect(await rejectedAt()).toBe(at);
  const written = await events();
  expect(written.map(({ detail, ...event }) => [event, JSON.parse(detail ?? '')])).toEqual([
    [{ outcome: 'error', proxy_id: proxy.id }, { code: 'UPSTREAM_UNAUTHORIZED' }],
  ]);
  const { items } = (await service.admin('GET', '/api/tokens')).json;
  expect(items.find((each: { serviceName: string }) => each.serviceName === serviceName)).toMatchObject({
    upstreamRejectedAt: at,
  });
});

it('the next success clears the mark, and no other answer does', async () => {
  await ask(401);
  for (const other of [403, 404, 500, 407]) {
    await ask(other);
    expect(await rejectedAt()).toBeDefined();
  }
  expect(await ask(200)).toEqual([200, undefined]);
  expect(await rejectedAt()).toBeUndefined();
  await ask(401);
  expect(await rejectedAt()).toBeDefined();
  expect(await events()).toHaveLength(2);
});

it('only a 401 marks a credential', async () => {
  for (const other of [200, 204, 400, 403, 404, 407, 429, 500, 503]) await ask(other);
  expect([await rejectedAt(), await events()]).toEqual([undefined, []]);
});

it('a credential that was stored since then is not shown as rejected', async () => {
  await ask(401);
  const stored = (updatedAt: number) =>
    service.webhook.tokens.set(serviceName, {
      serviceName,
      tokenType: 'PlainText',
      createdAt: '2026-11-01T00:00:00.000Z',
      updatedAt: new Date(updatedAt).toISOString(),
      hasRefreshToken: false,
      version: 1,
      delivery: 'any',
      allowedHosts: [],
      allowedHeaders: [],
      empty: false,
    });
  stored(service.clock.now() - 1);
  expect(await rejectedAt()).toBeDefined();
  stored(service.clock.now() + 1);
  expect(await rejectedAt()).toBeUndefined();
});

it('a 401 for a credential without a token is answered alike, and nothing is written', async () => {
  proxy = await proxyOn(service, { serviceName: 'never-described' });
  serviceName = 'never-described';
  expect(await ask(401)).toEqual([502, 'UPSTREAM_UNAUTHORIZED']);
  expect(await events()).toEqual([]);
});
