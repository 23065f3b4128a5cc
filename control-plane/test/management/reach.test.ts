import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { type TestProxy, codeOf, proxyOn } from '../support/proxy-steps.ts';
import type { TestAgent } from '../support/service-steps.ts';
import { uniqueName } from '../support/unique-name.ts';

const CODE_UNBOUND = 'WEBHOOK_NOT_CONFIGURED';

let service: LinkedService;
beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
});
afterAll(() => service.stop());

interface Pair {
  readonly caller: { readonly type: string; readonly id: string; readonly name: string };
  readonly credential: { readonly serviceName: string };
  readonly grant: object | null;
  readonly policies: readonly { readonly id: string }[];
  readonly channels: readonly { readonly channel: string; readonly denial: string | null }[];
}

const post = async (path: string, body: object = {}) => {
  const answer = await service.admin('POST', path, { body });
  expect(answer.status).toBeLessThan(300);
  return answer.json;
};
const pageOf = async (query: object) =>
  (await service.admin('GET', `/api/reach?${new URLSearchParams({ ...query }).toString()}`)).json as {
    readonly items: readonly Pair[];
    readonly nextCursor?: string;
  };
const reach = async (query: object) => (await pageOf(query)).items;

async function everyPage(query: object): Promise<readonly Pair[]> {
  const items: Pair[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await pageOf({ ...query, ...(cursor !== undefined && { cursor }) });
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}
const named = (pairs: readonly Pair[]) =>
  pairs.map(({ caller, credential }) => [caller.id, credential.serviceName]);
const denials = ({ channels }: Pair) => channels.map(({ channel, denial }) => [channel, denial] as const);

async function proxy(serviceName: string, agentId?: string): Promise<string> {
  const body = { name: uniqueName('p'), upstreamUrl: 'https://mcp.example.com/', serviceName, agentId };
  return (await post('/api/proxies', { ...body, allowMissing: true })).proxy.id;
}
async function policy(name: string, target: readonly [type: string, id: string], enabled = true) {
  const rules = [{ type: 'max_usage', limit: 9 }, { type: 'manual_approval' }];
  const { id } = await post('/api/policies', { name, enabled, rules });
  await post(`/api/policies/${id}/attachments`, { targetType: target[0], targetId: target[1] });
  return id as string;
}

describe('GET /api/reach', () => {
  test('gives a pair with its agent, its grant, what is sealed, and the enabled policies in their order', async () => {
    const serviceName = uniqueName('s');
    await post('/api/tokens', { serviceName, tokenType: 'PlainText' });
    const times = { createdAt: '2026-11-20T12:00:00Z', updatedAt: '2026-11-20T12:00:00Z', version: 1 };
    const sealed = { delivery: 'any', allowedHosts: ['api.example'], allowedHeaders: ['authorization'] };
    const record = { tokenType: 'PlainText', hasRefreshToken: false, empty: false };
    service.webhook.tokens.set(serviceName, { serviceName, ...record, ...times, ...sealed });
    const folder = await post('/api/folders', { name: uniqueName('f'), serviceNames: [serviceName] });
    const { id, list } = await service.agent();
    await post(`/api/agents/${id}/grants`, { folderId: folder.id, expiresInSeconds: 3_600 });
    await list();
    const ofToken = await policy('a', ['token', serviceName]);
    const [second, first] = [await policy('z', ['agent', id]), await policy('b', ['agent', id])];
    await policy('disabled', ['agent', id], false);
    await policy('of another', ['agent', (await service.agent()).id]);

    const { json: grants } = await service.admin('GET', `/api/agents/${id}/grants`);
    const { json: agent } = await service.admin('GET', `/api/agents/${id}`);
    const rules = ['max_usage', 'manual_approval'];
    expect(await reach({ agentId: id, serviceName })).toEqual([
      {
        caller: { type: 'agent', id, name: agent.name, status: 'active', lastUsedAt: agent.lastUsedAt },
        credential: { serviceName, described: true, stored: true, ...sealed },
        grant: grants.items[0],
        policies: [
          { id: first, name: 'b', targetType: 'agent', rules },
          { id: second, name: 'z', targetType: 'agent', rules },
          { id: ofToken, name: 'a', targetType: 'token', rules },
        ],
        channels: [
          { channel: 'rest', denial: null },
          { channel: 'mcp', denial: 'MCP_DISABLED' },
        ],
      },
    ]);
    expect(grants.items[0]).toMatchObject({ sourceGroupId: folder.id });
  });

  test('gives an active proxy that injects a credential, without a grant and with its own policies', async () => {
    const serviceName = uniqueName('s');
    const { id: agentId } = await service.agent();
    const [acting, plain] = [await proxy(serviceName, agentId), await proxy(serviceName)];
    const revoked = await proxy(serviceName);
    await post(`/api/proxies/${revoked}/revoke`);
    const sending = { name: uniqueName('p'), upstreamUrl: 'https://x.example/', agentId };
    await post('/api/proxies', { ...sending, upstreamAuthType: 'sv_session' });
    const ofProxy = await policy('p', ['proxy', acting]);
    await policy('q', ['agent', agentId]);

    const ofAgent = await reach({ agentId });
    expect(named(ofAgent)).toEqual([[acting, serviceName]]);
    expect(ofAgent[0]).toMatchObject({
      caller: { type: 'proxy', status: 'active', upstreamUrl: 'https://mcp.example.com/', agentId },
      credential: { described: false, stored: null, delivery: null, allowedHosts: null },
      grant: null,
      policies: [{ id: ofProxy, targetType: 'proxy' }],
      channels: [{ channel: 'proxy', denial: null }],
    });
    expect(named(await reach({ serviceName }))).toEqual(
      [acting, plain].toSorted().map((id) => [id, serviceName]),
    );
    expect(named(await reach({ proxyId: plain }))).toEqual([[plain, serviceName]]);
    await post(`/api/agents/${agentId}/suspend`);
    const [first] = await reach({ proxyId: acting });
    expect(first && denials(first)).toEqual([['proxy', 'AGENT_INACTIVE']]);
  });

  test('has each pair once over all pages, by caller or by credential, in the order of bytes', async () => {
    // UTF-16 has the second before the first.
    const names = ['\u{FF5E}', '\u{1F600}', 'a', 'B'].map((end) => `order ${end}`);
    const agents = [await service.agent(...names), await service.agent(...names.slice(1))];
    const proxies = [await proxy('order a'), await proxy('order \u{1F600}')];
    const bytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
    const wanted = [
      ...names.map((name) => [agents[0]!.id, name]),
      ...names.slice(1).map((name) => [agents[1]!.id, name]),
      [proxies[0]!, 'order a'],
      [proxies[1]!, 'order \u{1F600}'],
    ] as [string, string][];
    const here = (pairs: readonly Pair[]) => named(pairs).filter(([, name]) => name?.startsWith('order '));
    for (const limit of [1, 3, 100]) {
      expect(here(await everyPage({ by: 'agent', limit }))).toEqual(
        wanted.toSorted((one, other) => bytes(one[0], other[0]) || bytes(one[1], other[1])),
      );
      expect(here(await everyPage({ by: 'credential', limit }))).toEqual(
        wanted.toSorted((one, other) => bytes(one[1], other[1]) || bytes(one[0], other[0])),
      );
    }
    expect(named(await everyPage({ serviceName: 'order a', limit: 2 }))).toEqual(
      wanted.filter(([, name]) => name === 'order a').toSorted((one, other) => bytes(one[0], other[0])),
    );
  });

  test('answers 404 for an unknown agent or proxy, and with nothing for a name that nobody is granted', async () => {
    const { id } = await service.agent();
    const status = async (query: string) => (await service.admin('GET', `/api/reach?${query}`)).status;
    expect(await status(`agentId=${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`)).toBe(404);
    expect(await status(`proxyId=prx_${id.slice(4)}`)).toBe(404);
    expect(await status(`agentId=${id}&by=name`)).toBe(422);
    expect(await reach({ serviceName: 'nobody’s' })).toEqual([]);
  });
});

describe('POST /api/reach/matrix', () => {
  const matrix = async (callerIds: readonly string[], serviceNames: readonly string[]) =>
    service.admin('POST', '/api/reach/matrix', { body: { callerIds, serviceNames } });

  test('has a state of each caller with each credential, in the order of the request', async () => {
    const names = [uniqueName('s'), uniqueName('s'), uniqueName('s')] as const;
    const granted = await service.agent(names[0], names[1]);
    const [suspended, ruled] = [await service.agent(names[2]), await service.agent(names[0])];
    await post(`/api/agents/${suspended.id}/suspend`);
    await policy('m', ['agent', ruled.id]);
    await policy('disabled', ['agent', granted.id], false);
    const proxyId = await proxy(names[2]);
    const unknown = `agt_${'A'.repeat(22)}`;
    const callers = [granted.id, unknown, suspended.id, proxyId, ruled.id];
    expect((await matrix(callers, names)).json).toEqual({
      rows: [
        ['allowed', 'allowed', 'none'],
        ['none', 'none', 'none'],
        ['none', 'none', 'denied'],
        ['none', 'none', 'allowed'],
        ['conditional', 'none', 'none'],
      ],
    });
    const reversed = [...names].toReversed();
    expect((await matrix([ruled.id], reversed)).json).toEqual({ rows: [['none', 'none', 'conditional']] });
    expect((await matrix([], names)).json).toEqual({ rows: [] });
  });

  test('says the same as GET /api/reach of each pair, also while the vault is locked', async () => {
    const name = uniqueName('s');
    const agent = await service.agent(name);
    await post('/api/vault/lock');
    try {
      const [pair] = await reach({ agentId: agent.id, serviceName: name });
      expect(pair?.channels[0]?.denial).toBe('VAULT_LOCKED');
      expect((await matrix([agent.id], [name])).json).toEqual({ rows: [['denied']] });
    } finally {
      await post('/api/vault/unlock');
    }
  });

  test('rejects more than 50 of either, a repetition, and what is no agent or proxy', async () => {
    const many = Array.from({ length: 51 }, (_, n) => `s${n}`);
    const agent = `agt_${'A'.repeat(22)}`;
    const issues = async (callers: readonly string[], names: readonly string[]) =>
      (await matrix(callers, names)).json.issues.map(({ path }: { path: string }) => path);
    expect(await issues([agent], many)).toEqual(['serviceNames']);
    expect(await issues([agent, agent], ['s'])).toEqual(['callerIds.1']);
    expect(await issues([`pol_${'A'.repeat(22)}`], ['s'])).toEqual(['callerIds.0']);
    expect((await matrix([agent], many.slice(0, 50))).status).toBe(200);
  });
});

describe('a denial of GET /api/reach is what a request is denied with', () => {
  let serviceName: string;
  let agent: TestAgent;
  let acting: TestProxy;
  async function pairsOn(on: LinkedService) {
    serviceName = uniqueName('s');
    agent = await on.agent();
    const body = { serviceName, allowMissing: true, expiresInSeconds: 3_600 };
    await on.admin('POST', `/api/agents/${agent.id}/grants`, { body });
    acting = await proxyOn(on, { serviceName, agentId: agent.id });
  }
  beforeEach(() => pairsOn(service));

  /** Codes by channel: what the list says, and what requests are answered. */
  async function listedAndAnswered(on = service) {
    const { items } = (await on.admin('GET', `/api/reach?agentId=${agent.id}`)).json as { items: Pair[] };
    const listed = Object.fromEntries(items.flatMap(denials));
    const rest = codeOf(await agent.get(serviceName))[1] ?? null;
    const proxied = codeOf(await acting.send('tools/list'))[1] ?? null;
    return { listed, answered: { rest, proxy: proxied } };
  }

  const states: readonly (readonly [string, () => unknown, string | null, () => unknown])[] = [
    ['nothing', () => undefined, null, () => undefined],
    ['a suspension', () => post(`/api/agents/${agent.id}/suspend`), 'AGENT_INACTIVE', () => undefined],
    ['a lock', () => post('/api/vault/lock'), 'VAULT_LOCKED', () => post('/api/vault/unlock')],
    ['an unbinding', () => service.admin('DELETE', '/api/webhook'), CODE_UNBOUND, () => service.bind()],
  ];
  test.each(states)('after %s', async (_, happen, code, restore) => {
    await happen();
    try {
      const { listed, answered } = await listedAndAnswered();
      const mcp = code === 'AGENT_INACTIVE' ? code : 'MCP_DISABLED';
      expect(listed).toEqual({ rest: code, proxy: code, mcp });
      expect(answered).toEqual({ rest: code, proxy: code });
    } finally {
      await restore();
    }
  });

  test('after the end of a grant, which its proxy does not need', async () => {
    service.clock.advance(3_600_000);
    const { listed, answered } = await listedAndAnswered();
    expect(listed).toMatchObject({ rest: 'GRANT_EXPIRED', proxy: null });
    expect(answered).toEqual({ rest: 'GRANT_EXPIRED', proxy: null });
  });

  test('while the webhook is offline, when MCP still issues tickets', async () => {
    const away = await startLinkedService();
    onTestFinished(() => away.stop());
    await away.bind();
    await pairsOn(away);
    await away.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled: true } });
    await away.webhook.shut();
    await away.admin('GET', `/api/reach?agentId=${agent.id}`);
    const { listed, answered } = await listedAndAnswered(away);
    expect(listed).toEqual({ rest: 'WEBHOOK_UNAVAILABLE', proxy: 'WEBHOOK_UNAVAILABLE', mcp: null });
    expect(answered).toEqual({ rest: 'WEBHOOK_UNAVAILABLE', proxy: 'WEBHOOK_UNAVAILABLE' });
  });
});
