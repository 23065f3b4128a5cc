import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from './linked-service.ts';
import { clientOf } from './management-service.ts';
import { mcpAgentOn, mcpClientOf } from './mcp-steps.ts';
import { type TestProxy, codeOf, proxyOn, sessionSettings } from './proxy-steps.ts';
import { refreshableRecord } from './refreshable-record.ts';
import { CREDENTIALS } from './service-steps.ts';

/*
 * While a proxy is in use, what it rests on is taken away. Behind that event the log has no use any more; each use in the log
 * was forwarded, and each that was forwarded is in the log.
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
  /** The event that tells of it. */
  readonly event: string;
  /** What is answered from then on. */
  readonly code: string;
  readonly take: (proxy: TestProxy) => Promise<unknown>;
  readonly giveBack?: () => Promise<unknown>;
}

const WITHDRAWALS: Readonly<Record<string, Withdrawal>> = {
  'the key': {
    event: 'KEY_REVOKED',
    code: '403 INVALID_KEY',
    take: ({ id }) => admin('POST', `/api/proxies/${id}/revoke`),
  },
  'the proxy': {
    event: 'PROXY_DELETED',
    code: '403 INVALID_KEY',
    take: ({ id }) => admin('DELETE', `/api/proxies/${id}`),
  },
  'its agent': {
    event: 'AGENT_SUSPENDED',
    code: '403 AGENT_INACTIVE',
    take: () => admin('POST', `/api/agents/${agentId}/suspend`),
  },
  'the vault': {
    event: 'VAULT_LOCKED',
    code: '423 VAULT_LOCKED',
    take: () => admin('POST', '/api/vault/lock'),
    giveBack: () => admin('POST', '/api/vault/unlock'),
  },
  'what its policies allow': {
    event: 'POLICY_ATTACHED',
    code: '403 POLICY_DENIED',
    take: async ({ id: targetId }) => {
      const id = await admin('POST', '/api/policies', { name: 'p', rules: [{ type: 'manual_approval' }] });
      await admin('POST', `/api/policies/${id}/attachments`, { targetType: 'proxy', targetId });
    },
  },
  'the webhook': {
    event: 'WEBHOOK_UNBOUND',
    code: '502 WEBHOOK_NOT_CONFIGURED',
    take: () => admin('DELETE', '/api/webhook'),
    giveBack: () => service.bind(),
  },
};

test.each(Object.entries(WITHDRAWALS))('%s', async (_what, { event, code, take, giveBack }) => {
  const proxy = await proxyOn(service, { agentId });
  const ask = async (): Promise<string> =>
    codeOf(await proxy.send('tools/call'))
      .join(' ')
      .trim();
  expect(await ask()).toBe('200');
  const said = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      if (n === 7) await take(proxy);
      return ask();
    }),
  );
  await giveBack?.();
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
});

describe('while the webhook is asked something first: the upstream is not called', () => {
  const cases = Object.entries(WITHDRAWALS).filter(([what]) => what !== 'what its policies allow');

  test.each(cases)('%s, while its settings are given', async (_what, { code, take, giveBack }) => {
    const proxy = await proxyOn(service, { agentId });
    // As if it had lost them: the next request gives them anew.
    service.webhook.onProxy = refusesBy(404, 'NOT_FOUND');
    await proxy.send('tools/call');
    service.webhook.onProxy = forwards;
    service.webhook.fault = async (_path, body) => {
      if (body.includes('proxies.get')) await take(proxy);
      return undefined;
    };
    const said = await proxy.send('tools/call');
    service.webhook.fault = undefined;
    await giveBack?.();
    expect([codeOf(said).join(' '), forwarded]).toEqual([code, 0]);
  });

  test.each(cases)('%s, while its token is refreshed', async (_what, { code, take, giveBack }) => {
    const proxy = await proxyOn(service, { agentId });
    const expired = refreshableRecord('github', { expiryTime: '2026-11-20T00:00:00.000Z' });
    service.webhook.tokens.set('github', expired);
    let asked = 0;
    service.webhook.onProxy = (call, res) => {
      asked += 1;
      refusesBy(409, 'REFRESH_NEEDED')(call, res);
    };
    service.webhook.refresh = async () => {
      await take(proxy);
      return { status: 200, answer: { outcome: 'refreshed' } };
    };
    const said = await proxy.send('tools/call');
    await giveBack?.();
    expect([codeOf(said).join(' '), asked]).toEqual([code, 1]);
  });
});

describe('R27: what is taken away is gone at all three doors with the next request, and comes back there', () => {
  /** Codes by REST, by MCP, by a proxy with a credential and by one with sessions. */
  const atAllDoors = async () => {
    const agent = await mcpAgentOn(service, 'github');
    const rest = clientOf(service.running.url, { authorization: `Bearer ${agent.apiKey}` });
    const mcp = mcpClientOf(service, agent.apiKey);
    const upstream = `${service.webhook.url}/upstream`;
    const proxies = [
      await proxyOn(service, { agentId: agent.id }),
      await proxyOn(service, sessionSettings(agent.id, upstream)),
    ];
    const ask = async (): Promise<readonly unknown[]> => {
      const { json, status } = await rest('GET', `${CREDENTIALS}?service=github`);
      const tool = await mcp.call2025('get_credential', { service: 'github' });
      const said = await Promise.all(proxies.map(async (proxy) => codeOf(await proxy.send('tools/call'))));
      const byMcp = tool.content?.code ?? tool.answer.json?.code;
      return [status === 307 ? undefined : json.code, byMcp, ...said.map(([, code]) => code)];
    };
    return { id: agent.id, ask };
  };
  const same = (code: string | undefined): readonly unknown[] => [code, code, code, code];

  test('the vault, and the agent', async () => {
    service.webhook.fault = (path) => (path === '/upstream' ? { status: 200, body: '{}' } : undefined);
    const { id, ask } = await atAllDoors();
    expect(await ask()).toEqual(same(undefined));
    await admin('POST', '/api/vault/lock');
    expect(await ask()).toEqual(same('VAULT_LOCKED'));
    await admin('POST', '/api/vault/unlock');
    expect(await ask()).toEqual(same(undefined));
    await admin('POST', `/api/agents/${id}/suspend`);
    expect(await ask()).toEqual(same('AGENT_INACTIVE'));
    await admin('POST', `/api/agents/${id}/resume`);
    expect(await ask()).toEqual(same(undefined));
    service.webhook.fault = undefined;
  });
});
