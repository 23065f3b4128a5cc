import { expect } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { type TestProxy, message } from '../support/proxy-steps.ts';
import { expectRefusal } from './answers.ts';
import { type ProxyFixture, expectRpcDenial, proxyTest as test } from './proxy-fixture.ts';
import { spec } from '@svault/test-kit/spec';
import { expectWindow, perMinute } from './windows.ts';

const MINUTE_MS = 60_000;
const FLOOR = 300;
const HANDSHAKE = 120;
const LIST = message('tools/list', {}, 1);
const INITIALIZE = message('initialize', {}, 1);
const INITIALIZED = message('notifications/initialized');
const EXEMPT = [INITIALIZE, INITIALIZED, LIST];
const PROBE = { method: 'GET' } as const;

/** For windows: the seconds to wait, undefined where the upstream answered. */
function hintOf(answer: Answer, id: unknown = 1): number | undefined {
  if (answer.status === 200) return undefined;
  const retryAfter = Number(answer.headers.get('retry-after'));
  expectRpcDenial(answer, { id, code: 'RATE_LIMITED', retryAfter });
  return retryAfter;
}

const lockouts = async ({ admin }: ProxyFixture): Promise<unknown[]> =>
  (await admin('GET', '/api/limits/lockouts')).json.items as unknown[];
const post = (body: object) => ({ method: 'POST', body }) as const;
const batch = async (proxy: TestProxy, body: object): Promise<number | undefined> =>
  hintOf(await proxy.call('POST', { body }), null);

test(
  'a proxy may forward 300 requests a minute',
  spec('proxy_mcp | 300 per minute per proxy | MCP proxy traffic.'),
  async ({ fixture }) => {
    const [proxy, other] = [await fixture.proxyTo(), await fixture.proxyTo()];
    const call = async (): Promise<number | undefined> => hintOf(await proxy.send('tools/call'));
    await expectWindow(fixture.pair.clock, perMinute(300), call, (count) => fixture.spend(proxy, count));
    expect((await other.send('tools/call')).status).toBe(200);
  },
);

test(
  'a proxy may forward 120 handshake messages a minute',
  spec('mcp_handshake | 120 per minute per', 'or proxy | initialize, tools/list, notifications/*.'),
  async ({ fixture }) => {
    const [proxy, other] = [await fixture.proxyTo(), await fixture.proxyTo()];
    let n = 0;
    const greet = async (): Promise<number | undefined> => {
      const [body, id] = [EXEMPT[n % 3], n % 3 === 1 ? null : 1];
      n += 1;
      return hintOf(await proxy.call('POST', { body }), id);
    };
    await expectWindow(fixture.pair.clock, perMinute(120), greet, async (count) => {
      for (const body of EXEMPT) await fixture.spend(proxy, Math.floor(count / 3), post(body));
      await fixture.spend(proxy, count % 3, post(LIST));
    });
    expect(await lockouts(fixture)).toEqual([]);
    expect((await other.send('initialize')).status).toBe(200);
  },
);

test(
  'the SSE probe counts against the floor of the proxy',
  spec('On the proxy, the SSE GET probe always counts against the full floor.'),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    // The handshake's room is used up, and takes nothing from the probe's.
    await fixture.spend(proxy, HANDSHAKE, post(LIST));
    expect(hintOf(await proxy.send('tools/list'))).toBe(60);
    await fixture.spend(proxy, FLOOR, PROBE);
    expect(await lockouts(fixture)).toEqual([]);
    expectRefusal(await proxy.call('GET'), '429 RATE_LIMITED');
    expect(await lockouts(fixture)).toMatchObject([{ callerId: proxy.id, strikes: 1 }]);
  },
);

test(
  'a batch counts once against the proxy, as a handshake only where every message is one',
  spec('A JSON-RPC batch counts as one unit.', 'Otherwise the whole batch counts against the floor.'),
  async ({ fixture }) => {
    const call = message('tools/call', {}, 2);
    const greeting = await fixture.proxyTo();
    await fixture.spend(greeting, HANDSHAKE - 1, post(LIST));
    const many = Array.from({ length: 40 }, () => EXEMPT).flat();
    expect(await batch(greeting, many)).toBeUndefined();
    expect(await batch(greeting, EXEMPT)).toBe(60);
    // It left the floor alone, and is no strike.
    expect(hintOf(await greeting.send('tools/call'))).toBeUndefined();
    expect(await lockouts(fixture)).toEqual([]);
    fixture.wait(MINUTE_MS);
    // One message that is not exempt is enough, of whatever kind.
    const mixed = [
      [...EXEMPT, call],
      [call, ...EXEMPT],
      [...EXEMPT, message('ping', {}, 3)],
      [...EXEMPT, 7],
      Array.from({ length: 100 }, () => call),
      [],
    ];
    await fixture.spend(greeting, FLOOR - mixed.length);
    for (const each of mixed)
      expect([each.length, await batch(greeting, each)]).toEqual([each.length, undefined]);
    expect(await batch(greeting, EXEMPT)).toBeUndefined();
    expect(await batch(greeting, [...EXEMPT, call])).toBe(60);
    expect(await lockouts(fixture)).toMatchObject([{ callerId: greeting.id, strikes: 1 }]);
  },
);
