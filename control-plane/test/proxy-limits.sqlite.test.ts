import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type ManagementService, startService } from './management-service.ts';
import { type TestProxy, codeOf, message, proxyOn } from './proxy-steps.ts';

// Specification, "Limits": the proxy's floor, the handshake's counter, the account's ceiling and the penalty box.

/** Smaller than they are, so that a test need not ask so often. */
const [FLOOR, HANDSHAKE] = [7, 4];
const SMALL = { SV_LIMIT_PROXY_MCP: String(FLOOR), SV_LIMIT_MCP_HANDSHAKE: String(HANDSHAKE) };
/** What is let through: there is no webhook to forward to. */
const THROUGH = 502;
let service: ManagementService;
beforeAll(async () => {
  service = await startService(SMALL);
});
afterAll(() => service.stop());

const newProxy = async (): Promise<TestProxy> => {
  // A window of its own for the account's ceiling too.
  service.clock.advance(3_600_000);
  return proxyOn(service);
};

/** How often something is let through at once; what is limited is limited by nothing else. */
async function allowance(most: number, ask: () => Promise<Answer>): Promise<number> {
  const answers = await Promise.all(Array.from({ length: most + 5 }, ask));
  const limited = answers.filter(({ status }) => status === 429);
  for (const answer of limited) expect(codeOf(answer)).toEqual([429, 'RATE_LIMITED']);
  return answers.length - limited.length;
}

const post = (body: unknown, headers: Record<string, string> = {}) => ({ body, headers });
const CALL = message('tools/call', {}, 1);
const LIST = message('tools/list', {}, 1);

describe.each<readonly [string, string, object, number]>([
  ['a call', 'POST', post(CALL), FLOOR],
  ['what is no JSON-RPC', 'POST', { rawBody: 'x' }, FLOOR],
  ['the SSE probe', 'GET', {}, FLOOR],
  ['the end of a session', 'DELETE', {}, FLOOR],
  ['OPTIONS', 'OPTIONS', {}, FLOOR],
  ['a handshake in another method', 'DELETE', post(message('initialize', {}, 1)), FLOOR],
  ['ping', 'POST', post(message('ping', {}, 1)), FLOOR],
  ['a batch with one call', 'POST', post([LIST, CALL]), FLOOR],
  ['an empty batch', 'POST', post([]), FLOOR],
  ['initialize', 'POST', post(message('initialize', {}, 1)), HANDSHAKE],
  ['a notification', 'POST', post(message('notifications/initialized')), HANDSHAKE],
  ['a batch of exempt messages', 'POST', post([LIST, message('notifications/x'), LIST]), HANDSHAKE],
])('%s', (_what, method, options, limit) => {
  it(`counts once each time, against a limit of ${limit}`, async () => {
    const proxy = await newProxy();
    const ask = () => proxy.call(method, options);
    expect(await allowance(limit, ask)).toBe(limit);
    const strikes = (await service.admin('GET', '/api/limits/lockouts')).json.items;
    expect(strikes).toHaveLength(limit === FLOOR ? 1 : 0);
    service.clock.advance(60_000);
    expect((await ask()).status).toBe(THROUGH);
  });
});

it('handshakes and calls are counted apart; a lockout is for both, and for this proxy alone', async () => {
  const [proxy, other] = [await newProxy(), await proxyOn(service)];
  expect(await allowance(HANDSHAKE, () => proxy.send('tools/list'))).toBe(HANDSHAKE);
  expect(await allowance(FLOOR, () => proxy.send('tools/call'))).toBe(FLOOR);
  for (const method of ['tools/list', 'tools/call'])
    expect(codeOf(await proxy.send(method))).toEqual([429, 'RATE_LIMITED']);
  expect((await other.send('tools/call')).status).toBe(THROUGH);
});

it('a limiter’s denial has the id and its type on POST, and is plain elsewhere', async () => {
  const proxy = await newProxy();
  await allowance(FLOOR, () => proxy.call('GET'));
  for (const id of ['a', 7, 1.5, null]) {
    const { status, headers, json } = await proxy.send('tools/call', {}, id);
    const retryAfter = Number(headers.get('retry-after'));
    expect(status).toBe(429);
    expect(retryAfter).toBeGreaterThan(0);
    expect(json).toEqual({
      jsonrpc: '2.0',
      id,
      error: { code: -32_029, message: expect.any(String), data: { code: 'RATE_LIMITED', retryAfter } },
    });
  }
  for (const body of [[CALL, CALL], 'no message'])
    expect((await proxy.call('POST', { body })).json).toMatchObject({ id: null, error: { code: -32_029 } });
  for (const method of ['GET', 'DELETE', 'OPTIONS']) {
    const { status, json } = await proxy.call(method);
    expect([status, json]).toEqual([
      429,
      { error: expect.any(String), code: 'RATE_LIMITED', retryAfter: expect.any(Number) },
    ]);
  }
});

it('the account’s ceiling holds for proxies and agents together, without a strike', async () => {
  const small = await startService({ SV_LIMIT_USER_AGGREGATE: '4' });
  const proxy = await proxyOn(small);
  for (let n = 0; n < 2; n++) expect((await proxy.send('tools/call')).status).toBe(THROUGH);
  for (let n = 0; n < 2; n++) expect((await proxy.send('tools/list')).status).toBe(THROUGH);
  for (const method of ['tools/call', 'tools/list'])
    expect(codeOf(await proxy.send(method))).toEqual([429, 'RATE_LIMITED']);
  expect((await small.admin('GET', '/api/limits/lockouts')).json.items).toEqual([]);
  await small.stop();
});
