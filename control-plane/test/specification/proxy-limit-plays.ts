import { expect } from 'vitest';
import type { Answer } from '../management-service.ts';
import { type TestProxy, message } from '../proxy-steps.ts';
import { expectRefusal } from './answers.ts';
import type { LIMIT_ROWS } from './limit-rows.ts';
import { type ProxyPlay, type ProxyScene, expectRpcDenial } from './proxy-scene.ts';
import { rateOf, type Row } from './row.ts';
import { expectWindow } from './windows.ts';

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

const lockouts = async ({ admin }: ProxyScene): Promise<unknown[]> =>
  (await admin('GET', '/api/limits/lockouts')).json.items as unknown[];
const post = (body: object) => ({ method: 'POST', body }) as const;
const batch = async (proxy: TestProxy, body: object): Promise<number | undefined> =>
  hintOf(await proxy.call('POST', { body }), null);

/** "Limits", as far as they are the proxy endpoint's. */
export const PROXY_LIMIT_PLAYS = {
  proxy_mcp: async (scene, row) => {
    const [proxy, other] = [await scene.proxyTo(), await scene.proxyTo()];
    const call = async (): Promise<number | undefined> => hintOf(await proxy.send('tools/call'));
    await expectWindow(scene.pair.clock, rateOf(row), call, (count) => scene.spend(proxy, count));
    expect((await other.send('tools/call')).status).toBe(200);
  },

  'mcp_handshake, proxy': async (scene, row) => {
    const [proxy, other] = [await scene.proxyTo(), await scene.proxyTo()];
    let n = 0;
    const greet = async (): Promise<number | undefined> => {
      const [body, id] = [EXEMPT[n % 3], n % 3 === 1 ? null : 1];
      n += 1;
      return hintOf(await proxy.call('POST', { body }), id);
    };
    await expectWindow(scene.pair.clock, rateOf(row), greet, async (count) => {
      for (const body of EXEMPT) await scene.spend(proxy, Math.floor(count / 3), post(body));
      await scene.spend(proxy, count % 3, post(LIST));
    });
    expect(await lockouts(scene)).toEqual([]);
    expect((await other.send('initialize')).status).toBe(200);
  },

  'handshake: SSE probe': async (scene) => {
    const proxy = await scene.proxyTo();
    // The handshake's room is used up, and takes nothing from the probe's.
    await scene.spend(proxy, HANDSHAKE, post(LIST));
    expect(hintOf(await proxy.send('tools/list'))).toBe(60);
    await scene.spend(proxy, FLOOR, PROBE);
    expect(await lockouts(scene)).toEqual([]);
    expectRefusal(await proxy.call('GET'), '429 RATE_LIMITED');
    expect(await lockouts(scene)).toMatchObject([{ callerId: proxy.id, strikes: 1 }]);
  },

  'handshake: batch, proxy': async (scene) => {
    const call = message('tools/call', {}, 2);
    const greeting = await scene.proxyTo();
    await scene.spend(greeting, HANDSHAKE - 1, post(LIST));
    const many = Array.from({ length: 40 }, () => EXEMPT).flat();
    expect(await batch(greeting, many)).toBeUndefined();
    expect(await batch(greeting, EXEMPT)).toBe(60);
    // It left the floor alone, and is no strike.
    expect(hintOf(await greeting.send('tools/call'))).toBeUndefined();
    expect(await lockouts(scene)).toEqual([]);
    scene.wait(MINUTE_MS);
    // One message that is not exempt is enough, of whatever kind.
    const mixed = [
      [...EXEMPT, call],
      [call, ...EXEMPT],
      [...EXEMPT, message('ping', {}, 3)],
      [...EXEMPT, 7],
      Array.from({ length: 100 }, () => call),
      [],
    ];
    await scene.spend(greeting, FLOOR - mixed.length);
    for (const each of mixed)
      expect([each.length, await batch(greeting, each)]).toEqual([each.length, undefined]);
    expect(await batch(greeting, EXEMPT)).toBeUndefined();
    expect(await batch(greeting, [...EXEMPT, call])).toBe(60);
    expect(await lockouts(scene)).toMatchObject([{ callerId: greeting.id, strikes: 1 }]);
  },
} as const satisfies Partial<Record<keyof typeof LIMIT_ROWS, ProxyPlay<Row>>>;
