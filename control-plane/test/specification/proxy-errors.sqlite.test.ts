import { expect } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import type { TestProxy } from '../support/proxy-steps.ts';
import { expectRefusal } from './answers.ts';
import { expectRpcDenial, proxyTest as test } from './proxy-fixture.ts';
import { spec } from '@svault/test-kit/spec';

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

test(
  'a policy denial of GET, DELETE and OPTIONS is plain: 403, or 429 for rate_limit',
  spec(
    'On GET, DELETE and OPTIONS (no JSON-RPC body), policy denials use the plain POLICY_DENIED body: 403 for most rules, 429 for rate_limit.',
  ),
  async ({ fixture }) => {
    const [slowed, other] = [await fixture.proxyTo(), await fixture.proxyTo()];
    const slow = { policy: await fixture.policy(SLOW, onProxy(slowed)), rule: 'rate_limit' };
    for (const method of WITHOUT_BODY) {
      expect((await slowed.call(method)).status).toBe(200);
      const refused = await slowed.call(method);
      expectPolicyDenial(refused, 429, slow);
      expect(refused.json.retryAfter).toBe(9);
      fixture.wait(9_000);
    }
    const asked = fixture.upstream.seen.length;
    const office = { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] };
    for (const [target, proxy] of [
      [onProxy(slowed), slowed],
      [onToken, other],
    ] as const) {
      const policy = await fixture.policy(office, target);
      for (const method of WITHOUT_BODY)
        expectPolicyDenial(await proxy.call(method), 403, { policy, rule: 'ip_allowlist' });
    }
    expect(fixture.upstream.seen).toHaveLength(asked);
  },
);

test(
  'a denial of POST by rate_limit, limiter or penalty box is a JSON-RPC -32029',
  spec(
    'On POST, a rate_limit denial, a limiter denial or a penalty-box denial uses the JSON-RPC -32029 shape (429, Retry-After).',
  ),
  async ({ fixture }) => {
    const slowed = await fixture.proxyTo();
    await fixture.policy(SLOW, onProxy(slowed));
    expect((await slowed.send('tools/call')).status).toBe(200);
    expectRpcDenial(await slowed.send('tools/call', {}, 'an id'), {
      id: 'an id',
      code: 'POLICY_DENIED',
      retryAfter: 9,
    });
    const busy = await fixture.proxyTo();
    await fixture.spend(busy, FLOOR);
    fixture.wait(20_000);
    // The limiter, and then the penalty box, which handshakes meet as well.
    for (const method of ['tools/call', 'tools/call', 'initialize'])
      expectRpcDenial(await busy.send(method, {}, 7), { id: 7, code: 'RATE_LIMITED', retryAfter: 40 });
    expect((await fixture.admin('GET', '/api/limits/lockouts')).json.items).toMatchObject([
      { callerId: busy.id, strikes: 1 },
    ]);
    // No JSON-RPC body: no JSON-RPC error.
    for (const method of WITHOUT_BODY) expectRefusal(await busy.call(method), '429 RATE_LIMITED');
  },
);

test(
  'a denial of POST by any other rule is a plain 403',
  spec('Any other rule denies with the plain 403 body.'),
  async ({ fixture }) => {
    const rules = [
      { type: 'manual_approval' },
      { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] },
      { type: 'geo_restrict', mode: 'allow', countries: ['CH'] },
      { type: 'max_usage', limit: 1 },
      { type: 'time_window', timezone: 'UTC', windows: [{ days: [1], start: '00:00', end: '00:01' }] },
    ];
    for (const rule of rules) {
      const proxy = await fixture.proxyTo();
      const policy = await fixture.policy(rule, onProxy(proxy));
      if (rule.type === 'max_usage') expect((await proxy.send('tools/call')).status).toBe(200);
      expectPolicyDenial(await proxy.send('tools/call'), 403, { policy, rule: rule.type });
    }
    expect(fixture.upstream.seen).toHaveLength(1);
  },
);

test(
  'a rate_limit denial of any POST is -32029 with data.code POLICY_DENIED',
  spec('On /api/proxy/mcp, -32029 may carry data.code POLICY_DENIED.'),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    await fixture.policy(SLOW, onToken);
    expect((await proxy.send('tools/call')).status).toBe(200);
    // Handshakes and batches are requests to a policy, too; a batch has no one id.
    for (const [body, id] of [
      [{ jsonrpc: '2.0', id: 3, method: 'tools/list' }, 3],
      [[{ jsonrpc: '2.0', id: 3, method: 'tools/list' }], null],
      [{ jsonrpc: '2.0', method: 'notifications/initialized' }, null],
    ] as const)
      expectRpcDenial(await proxy.call('POST', { body }), { id, code: 'POLICY_DENIED', retryAfter: 9 });
    fixture.wait(9_000);
    expect((await proxy.send('tools/call')).status).toBe(200);
  },
);

// 502 here, not 503: the specification says both (DIVERGENCES.md).
test(
  'an offline webhook is 502 WEBHOOK_UNAVAILABLE to every method',
  spec(
    'Webhook offline: 502 with code WEBHOOK_UNAVAILABLE.',
    'When the webhook is offline,',
    'and proxy requests then return 503.',
  ),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    expect((await proxy.send('tools/call')).status).toBe(200);
    await fixture.pair.stop('webhook');
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
      await fixture.pair.start('webhook');
    }
    await fixture.admin('GET', '/api/webhook');
    expect((await proxy.send('tools/call')).status).toBe(200);
  },
);
