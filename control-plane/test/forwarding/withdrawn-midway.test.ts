import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { type TestProxy, codeOf, proxyOn } from '../support/proxy-steps.ts';
import { refreshableRecord } from '../support/refreshable-record.ts';

/*
 * A right of a proxy is withdrawn while it is in use. No use follows that event in the log, each use in the log was
 * forwarded, and each forwarded request is in the log.
 */

let service: LinkedService;
let agentId: string;
let forwarded: number;
beforeAll(async () => {
  service = await startLinkedService({ SV_LIMIT_USER_AGGREGATE: '1000000' });
  await service.bind();
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.clock.advance(60_000);
  ({ id: agentId } = await service.agent('github'));
  forwarded = 0;
  service.webhook.onProxy = forwards;
});

type OnProxy = LinkedService['webhook']['onProxy'];
const forwards: OnProxy = (_call, res) => {
  forwarded += 1;
  res.writeHead(200, { 'sv-proxy-origin': 'upstream' }).end('{}');
};
const refusesBy =
  (status: number, code: string): OnProxy =>
  (_call, res) =>
    void res.writeHead(status, { 'sv-proxy-origin': 'webhook' }).end(JSON.stringify({ error: 'no', code }));

const admin = async (method: string, path: string, body?: object): Promise<string> => {
  const answer = await service.admin(method, path, { body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json?.id;
};

interface Withdrawal {
  /** The event of the withdrawal. */
  readonly event: string;
  /** Status and code from then on. */
  readonly code: string;
  readonly withdraw: (proxy: TestProxy) => Promise<unknown>;
  readonly restore?: () => Promise<unknown>;
}

const WITHDRAWALS: Readonly<Record<string, Withdrawal>> = {
  'key revoked': {
    event: 'KEY_REVOKED',
    code: '403 INVALID_KEY',
    withdraw: ({ id }) => admin('POST', `/api/proxies/${id}/revoke`),
  },
  'proxy deleted': {
    event: 'PROXY_DELETED',
    code: '403 INVALID_KEY',
    withdraw: ({ id }) => admin('DELETE', `/api/proxies/${id}`),
  },
  'agent suspended': {
    event: 'AGENT_SUSPENDED',
    code: '403 AGENT_INACTIVE',
    withdraw: () => admin('POST', `/api/agents/${agentId}/suspend`),
  },
  'vault locked': {
    event: 'VAULT_LOCKED',
    code: '423 VAULT_LOCKED',
    withdraw: () => admin('POST', '/api/vault/lock'),
    restore: () => admin('POST', '/api/vault/unlock'),
  },
  'policy attached': {
    event: 'POLICY_ATTACHED',
    code: '403 POLICY_DENIED',
    withdraw: async ({ id: targetId }) => {
      const id = await admin('POST', '/api/policies', { name: 'p', rules: [{ type: 'manual_approval' }] });
      await admin('POST', `/api/policies/${id}/attachments`, { targetType: 'proxy', targetId });
    },
  },
  'webhook unbound': {
    event: 'WEBHOOK_UNBOUND',
    code: '502 WEBHOOK_NOT_CONFIGURED',
    withdraw: () => admin('DELETE', '/api/webhook'),
    restore: () => service.bind(),
  },
};

test.each(Object.entries(WITHDRAWALS))(
  'no use follows: %s',
  async (_what, { event, code, withdraw, restore }) => {
    const proxy = await proxyOn(service, { agentId });
    const ask = async (): Promise<string> =>
      codeOf(await proxy.send('tools/call'))
        .join(' ')
        .trim();
    expect(await ask()).toBe('200');
    const said = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        if (n === 7) await withdraw(proxy);
        return ask();
      }),
    );
    await restore?.();
    expect(said[7]).toBe(code);
    for (const each of said) expect(['200', code]).toContain(each);

    const rows = await service.place.state.rows<{
      event_type: string;
      outcome: string;
      proxy_id: string | null;
    }>('SELECT event_type, outcome, proxy_id FROM audit_events ORDER BY seq');
    const isUse = ({ event_type: type, outcome, proxy_id: id }: (typeof rows)[number]): boolean =>
      type === 'PROXY_CREDENTIAL_USE' && outcome === 'success' && id === proxy.id;
    const taken = rows.findLastIndex(({ event_type: type }) => type === event);
    expect(taken).toBeGreaterThan(0);
    expect(rows.slice(taken).filter(isUse)).toEqual([]);
    expect(rows.filter(isUse)).toHaveLength(forwarded);
    expect(forwarded).toBe(1 + said.filter((each) => each === '200').length);
  },
);

describe('a right that is withdrawn while the webhook is called first: the upstream is not called', () => {
  const cases: readonly (readonly [string, Pick<Withdrawal, 'code' | 'withdraw' | 'restore'>])[] = [
    ...Object.entries(WITHDRAWALS),
    [
      'settings changed',
      {
        code: '503 UNAVAILABLE',
        withdraw: ({ id }) =>
          admin('PATCH', `/api/proxies/${id}`, { upstreamUrl: 'https://other.example.com/mcp' }),
      },
    ],
  ];

  test.each(cases)(
    '%s, while the webhook gets the proxy’s settings',
    async (_what, { code, withdraw, restore }) => {
      const proxy = await proxyOn(service, { agentId });
      // As if the webhook had lost them: the next request sends them again.
      service.webhook.onProxy = refusesBy(404, 'NOT_FOUND');
      await proxy.send('tools/call');
      service.webhook.onProxy = forwards;
      service.webhook.fault = async (_path, body) => {
        if (body.includes('proxies.get')) await withdraw(proxy);
        return undefined;
      };
      const said = await proxy.send('tools/call');
      service.webhook.fault = undefined;
      await restore?.();
      expect([codeOf(said).join(' '), forwarded]).toEqual([code, 0]);
    },
  );

  test.each(cases)(
    '%s, while the webhook refreshes the token',
    async (_what, { code, withdraw, restore }) => {
      const proxy = await proxyOn(service, { agentId });
      const expired = refreshableRecord('github', { expiryTime: '2026-11-20T00:00:00.000Z' });
      service.webhook.tokens.set('github', expired);
      let asked = 0;
      service.webhook.onProxy = (call, res) => {
        asked += 1;
        refusesBy(409, 'REFRESH_NEEDED')(call, res);
      };
      service.webhook.refresh = async () => {
        await withdraw(proxy);
        return { status: 200, answer: { outcome: 'refreshed' } };
      };
      const said = await proxy.send('tools/call');
      await restore?.();
      expect([codeOf(said).join(' '), asked]).toEqual([code, 1]);
    },
  );
});

test('a use that was the last of a max_usage rule is forwarded after a refresh', async () => {
  const proxy = await proxyOn(service, { agentId });
  const id = await admin('POST', '/api/policies', { name: 'once', rules: [{ type: 'max_usage', limit: 1 }] });
  await admin('POST', `/api/policies/${id}/attachments`, { targetType: 'proxy', targetId: proxy.id });
  service.webhook.tokens.set(
    'github',
    refreshableRecord('github', { expiryTime: '2026-11-20T00:00:00.000Z' }),
  );
  service.webhook.onProxy = refusesBy(409, 'REFRESH_NEEDED');
  service.webhook.refresh = async () => {
    service.webhook.onProxy = forwards;
    return { status: 200, answer: { outcome: 'refreshed' } };
  };
  expect(codeOf(await proxy.send('tools/call'))).toEqual([200, undefined]);
  expect(codeOf(await proxy.send('tools/call'))).toEqual([403, 'POLICY_DENIED']);
  expect(forwarded).toBe(1);
});
