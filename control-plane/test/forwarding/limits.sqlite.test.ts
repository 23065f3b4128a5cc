import { expect, it } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';
import { type TestProxy, codeOf, message, proxyOn } from '../support/proxy-steps.ts';

// Which requests of the proxy count against what; messages: rate-limit-class.test.ts.

/** Small, so that few requests reach them. */
const [FLOOR, HANDSHAKE] = [7, 4];
/** Admitted requests: there is no webhook to forward to. */
const ADMITTED = 502;
const service = useService({
  SV_LIMIT_PROXY_MCP: String(FLOOR),
  SV_LIMIT_MCP_HANDSHAKE: String(HANDSHAKE),
});

const newProxy = async (): Promise<TestProxy> => {
  // In a new window of the account's aggregate.
  service.clock.advance(3_600_000);
  return proxyOn(service);
};

/** How many of simultaneous requests are admitted. */
async function allowance(max: number, ask: () => Promise<Answer>): Promise<number> {
  const answers = await Promise.all(Array.from({ length: max + 5 }, ask));
  const limited = answers.filter(({ status }) => status === 429);
  for (const answer of limited) expect(codeOf(answer)).toEqual([429, 'RATE_LIMITED']);
  return answers.length - limited.length;
}

const CALL = message('tools/call', {}, 1);
const INITIALIZE = { body: message('initialize', {}, 1) };

// spec: proxy_mcp | 300 per minute per proxy | MCP proxy traffic.
// spec: On the proxy, the SSE GET probe always counts against the full floor.
it.each<readonly [string, string, object, number]>([
  ['a call', 'POST', { body: CALL }, FLOOR],
  ['a body that is not JSON-RPC', 'POST', { rawBody: 'x' }, FLOOR],
  ['the probe for a stream', 'GET', {}, FLOOR],
  ['the end of a session', 'DELETE', {}, FLOOR],
  ['OPTIONS', 'OPTIONS', {}, FLOOR],
  ['a handshake message with another method', 'DELETE', INITIALIZE, FLOOR],
  ['a handshake message', 'POST', INITIALIZE, HANDSHAKE],
])('%s (%s) counts once against its limit', async (_what, method, options, limit) => {
  const proxy = await newProxy();
  const ask = () => proxy.call(method, options);
  expect(await allowance(limit, ask)).toBe(limit);
  const strikes = (await service.admin('GET', '/api/limits/lockouts')).json.items;
  expect(strikes).toHaveLength(limit === FLOOR ? 1 : 0);
  service.clock.advance(60_000);
  expect((await ask()).status).toBe(ADMITTED);
});

// spec: a limiter denial or a penalty-box denial uses the JSON-RPC -32029 shape (429, Retry-After).
it('a denial by the limiter is JSON-RPC with the id of the request on POST, and plain JSON elsewhere', async () => {
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
