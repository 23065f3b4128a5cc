import { expect } from 'vitest';
import type { Answer } from '../management-service.ts';
import type { TestProxy } from '../proxy-steps.ts';
import { expectRefusal } from './answers.ts';
import type { ERROR_ROWS } from './error-rows.ts';
import { type ProxyPlay, type ProxyScene, expectRpcDenial } from './proxy-scene.ts';
import type { Row } from './row.ts';

const FLOOR = 300;
const SLOW = { type: 'rate_limit', limit: 1, windowSeconds: 9 } as const;
const WITHOUT_BODY = ['GET', 'DELETE', 'OPTIONS'] as const;

const onProxy = ({ id }: TestProxy) => ({ targetType: 'proxy', targetId: id }) as const;
const onToken = { targetType: 'token', targetId: 'github' } as const;

/** The plain body of a policy's denial, with the policy's name. */
function expectPolicyDenial(answer: Answer, status: 403 | 429, said: { policy: string; rule: string }): void {
  expectRefusal(answer, `${status} POLICY_DENIED`);
  expect(answer.json).toMatchObject(said);
}

/** Known to be away, the webhook is the reason that is given, in the plain shape to every method. */
async function offline(scene: ProxyScene): Promise<void> {
  const proxy = await scene.proxyTo();
  expect((await proxy.send('tools/call')).status).toBe(200);
  await scene.pair.stop('webhook');
  try {
    // The first finds it out, the others are told.
    for (const answer of [
      await proxy.send('tools/call'),
      await proxy.send('initialize'),
      await proxy.call('GET'),
      await proxy.call('DELETE'),
      await proxy.call('OPTIONS'),
    ])
      expectRefusal(answer, '502 WEBHOOK_UNAVAILABLE');
  } finally {
    await scene.pair.start('webhook');
  }
  await scene.admin('GET', '/api/webhook');
  expect((await proxy.send('tools/call')).status).toBe(200);
}

/** "Errors", as far as they are the proxy endpoint's. */
export const PROXY_ERROR_PLAYS = {
  'proxy: policy denial': async (scene) => {
    const [slowed, other] = [await scene.proxyTo(), await scene.proxyTo()];
    const slow = { policy: await scene.policy(SLOW, onProxy(slowed)), rule: 'rate_limit' };
    for (const method of WITHOUT_BODY) {
      expect((await slowed.call(method)).status).toBe(200);
      const refused = await slowed.call(method);
      expectPolicyDenial(refused, 429, slow);
      expect(refused.json.retryAfter).toBe(9);
      scene.wait(9_000);
    }
    const asked = scene.upstream.seen.length;
    const office = { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] };
    for (const [target, proxy] of [
      [onProxy(slowed), slowed],
      [onToken, other],
    ] as const) {
      const policy = await scene.policy(office, target);
      for (const method of WITHOUT_BODY)
        expectPolicyDenial(await proxy.call(method), 403, { policy, rule: 'ip_allowlist' });
    }
    expect(scene.upstream.seen).toHaveLength(asked);
  },

  'proxy: limiter denial': async (scene) => {
    const slowed = await scene.proxyTo();
    await scene.policy(SLOW, onProxy(slowed));
    expect((await slowed.send('tools/call')).status).toBe(200);
    expectRpcDenial(await slowed.send('tools/call', {}, 'an id'), {
      id: 'an id',
      code: 'POLICY_DENIED',
      retryAfter: 9,
    });
    const busy = await scene.proxyTo();
    await scene.spend(busy, FLOOR);
    scene.wait(20_000);
    // The limiter, and then the penalty box, which handshakes meet as well.
    for (const method of ['tools/call', 'tools/call', 'initialize'])
      expectRpcDenial(await busy.send(method, {}, 7), { id: 7, code: 'RATE_LIMITED', retryAfter: 40 });
    expect((await scene.admin('GET', '/api/limits/lockouts')).json.items).toMatchObject([
      { callerId: busy.id, strikes: 1 },
    ]);
    // No JSON-RPC body: no JSON-RPC error.
    for (const method of WITHOUT_BODY) expectRefusal(await busy.call(method), '429 RATE_LIMITED');
  },

  'proxy: other rules': async (scene) => {
    const rules = [
      { type: 'manual_approval' },
      { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] },
      { type: 'geo_restrict', mode: 'allow', countries: ['CH'] },
      { type: 'max_usage', limit: 1 },
      { type: 'time_window', timezone: 'UTC', windows: [{ days: [1], start: '00:00', end: '00:01' }] },
    ];
    for (const rule of rules) {
      const proxy = await scene.proxyTo();
      const policy = await scene.policy(rule, onProxy(proxy));
      if (rule.type === 'max_usage') expect((await proxy.send('tools/call')).status).toBe(200);
      expectPolicyDenial(await proxy.send('tools/call'), 403, { policy, rule: rule.type });
    }
    expect(scene.upstream.seen).toHaveLength(1);
  },

  'proxy: rate_limit on POST': async (scene) => {
    const proxy = await scene.proxyTo();
    await scene.policy(SLOW, onToken);
    expect((await proxy.send('tools/call')).status).toBe(200);
    // Handshakes and batches are requests to a policy, too; a batch has no one id.
    for (const [body, id] of [
      [{ jsonrpc: '2.0', id: 3, method: 'tools/list' }, 3],
      [[{ jsonrpc: '2.0', id: 3, method: 'tools/list' }], null],
      [{ jsonrpc: '2.0', method: 'notifications/initialized' }, null],
    ] as const)
      expectRpcDenial(await proxy.call('POST', { body }), { id, code: 'POLICY_DENIED', retryAfter: 9 });
    scene.wait(9_000);
    expect((await proxy.send('tools/call')).status).toBe(200);
  },

  'proxy: webhook offline': offline,
  // 502 here, not 503: the specification says both (DIVERGENCES.md).
  'webhook offline, proxy': offline,
} as const satisfies Partial<Record<keyof typeof ERROR_ROWS, ProxyPlay<Row>>>;
