import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Account, CANARY, type TwoAccounts, twoAccounts } from './isolation/accounts.ts';
import { type Answer, clientOf } from './support/management-service.ts';
import { ERAS, type McpClient, type ToolAnswer, mcpAgentOn, mcpClientOf } from './support/mcp-steps.ts';
import { type ClientSession, WIDE_LIMITS, isActive, refresh, errorIn } from './support/oauth-client.ts';
import { CREDENTIALS } from './support/service-steps.ts';

/*
 * Two accounts on one service, each with agents and clients of its own: what one of them asks by MCP, or at OAuth's
 * endpoints, neither shows nor changes anything of the other.
 */

let accounts: TwoAccounts;
let theirs: TestAgent;
let own: TestAgent;

interface TestAgent {
  readonly id: string;
  readonly apiKey: string;
  readonly session: ClientSession;
  /** By key, and by session. */
  readonly callers: readonly McpClient[];
}

/** Known to the owner alone, and to both. */
const [THEIRS, SHARED, LATE] = ['known-to-one', 'known-to-both', 'known-to-one-first'];

async function makeToken({ call }: Account, what: string, serviceName: string): Promise<void> {
  const texts = {
    displayName: `${CANARY}${what}`,
    description: `${CANARY}${what}`,
    tags: [`${CANARY}${what}`],
  };
  await call('POST', '/api/tokens', { body: { serviceName, tokenType: 'PlainText', ...texts } });
}

/** An agent and a client, with everything that may be said of a token. */
async function agentIn(account: Account, what: string, services: readonly string[]): Promise<TestAgent> {
  const { call, connect } = account;
  for (const serviceName of services) await makeToken(account, what, serviceName);
  const { service } = accounts;
  const { id, apiKey } = await mcpAgentOn({ admin: call }, ...services);
  const session = await connect(id);
  const body = { name: `${CANARY}${what}`, enabled: true, rules: [{ type: 'max_usage', limit: 1_000 }] };
  const { json } = await call('POST', '/api/policies', { body });
  await call('POST', `/api/policies/${json.id}/attachments`, { body: { targetType: 'agent', targetId: id } });
  for (const serviceName of services)
    await clientOf(service.running.url, { authorization: `Bearer ${apiKey}` })(
      'GET',
      `${CREDENTIALS}?service=${serviceName}`,
    );
  const callers = [apiKey, session.accessToken].map((token) => mcpClientOf(service, token));
  return { id, apiKey, session, callers };
}

beforeAll(async () => {
  accounts = await twoAccounts(WIDE_LIMITS);
  theirs = await agentIn(accounts.owner, 'theirs', [THEIRS, SHARED]);
  own = await agentIn(accounts.stranger, 'own', [SHARED, LATE]);
  await makeToken(accounts.owner, 'theirs', LATE);
});
afterAll(() => accounts.stop());

/** Whatever changes in an account is an event of its log. */
const newest = async ({ call }: Account): Promise<string> => (await call('GET', '/api/audit?limit=1')).text;

/** All but the name that was asked for and the request's id. */
const outside = ({ status, text, headers }: Answer, name: string) => [
  status,
  JSON.stringify({ ...(JSON.parse(text) as object), id: 0 }).replaceAll(name, '‹it›'),
  [...headers].filter(([header]) => !['date', 'x-request-id', 'content-length'].includes(header)),
];

function expectNothingOfTheirs({ text }: Pick<Answer, 'text'>): void {
  const { id, session } = theirs;
  for (const mark of [
    `${CANARY}theirs`,
    id,
    session.clientId,
    accounts.owner.email,
    accounts.owner.webhook.url,
  ])
    expect([mark, text.includes(mark)]).toEqual([mark, false]);
}

describe.each(ERAS)('by MCP, in %s', (era) => {
  const everyCaller = async (ask: (caller: McpClient) => Promise<unknown>): Promise<void> => {
    const before = await newest(accounts.owner);
    for (const caller of own.callers) {
      await ask(caller);
      accounts.service.clock.advance(60_000);
    }
    expect(await newest(accounts.owner)).toBe(before);
  };

  test.each(['get_credential', 'show_credential', 'credential_history'])(
    '%s: a service of theirs is like one that nobody has',
    (tool) =>
      everyCaller(async (caller) => {
        const ask = (service: string): Promise<ToolAnswer> => caller.call(era, tool, { service });
        const [foreign, unknown] = [await ask(THEIRS), await ask('known-to-none')];
        expect(outside(foreign.answer, THEIRS)).toEqual(outside(unknown.answer, 'known-to-none'));
        expectNothingOfTheirs(foreign.answer);
      }),
  );

  test.each(['list_credentials', 'whoami'])('%s: shows one’s own alone', (tool) =>
    everyCaller(async (caller) => {
      const { content, answer } = await caller.call(era, tool, {});
      const names = content.grants.map(({ serviceName }: { serviceName: string }) => serviceName);
      expect(names.toSorted()).toEqual([SHARED, LATE].toSorted());
      expect(answer.text).toContain(`${CANARY}own`);
      expectNothingOfTheirs(answer);
    }),
  );

  test('of a name that both use, one’s own is shown, and one’s own webhook is led to', () =>
    everyCaller(async (caller) => {
      for (const service of [SHARED, LATE]) {
        const shown = await caller.call(era, 'show_credential', { service });
        expect(shown.content).toMatchObject({ serviceName: service, displayName: `${CANARY}own` });
        expectNothingOfTheirs(shown.answer);
      }
      // And the other way round, whichever of the two a query would find first.
      const other = await theirs.callers[0]!.call(era, 'show_credential', { service: SHARED });
      expect(other.content.displayName).toBe(`${CANARY}theirs`);
      const { content, answer } = await caller.call(era, 'get_credential', { service: SHARED });
      expect(content.credentialUrl.startsWith(`${accounts.stranger.webhook.url}/`)).toBe(true);
      expectNothingOfTheirs(answer);
    }));
});

describe('at OAuth’s endpoints', () => {
  const sessionsOf = async ({ call }: Account) =>
    (await call('GET', '/api/sessions?limit=100')).json.items as readonly {
      readonly id: string;
      readonly kind: string;
      readonly agentId?: string;
    }[];

  test('a session is listed in its own account alone, and ended there alone', async () => {
    const { owner, stranger } = accounts;
    const agents = (items: Awaited<ReturnType<typeof sessionsOf>>) => items.map(({ agentId }) => agentId);
    const theirSessions = (await sessionsOf(owner)).filter(({ kind }) => kind === 'oauth');
    expect(agents(theirSessions)).toEqual([theirs.id]);
    expect(agents(await sessionsOf(stranger))).not.toContain(theirs.id);
    expect((await stranger.call('DELETE', `/api/sessions/${theirSessions[0]!.id}`)).status).toBe(404);
    expect(agents(await sessionsOf(owner))).toContain(theirs.id);
  });

  test('their refresh token brings another account’s client nothing, and harms nothing', async () => {
    const { owner, stranger, service } = accounts;
    const { id } = await mcpAgentOn({ admin: owner.call });
    const victim = await owner.connect(id);
    const attacker = await stranger.connect((await mcpAgentOn({ admin: stranger.call })).id);
    const before = [await newest(owner), await newest(stranger)];
    const tried = await refresh(
      { service },
      { refreshToken: victim.refreshToken, clientId: attacker.clientId },
    );
    expect(errorIn(tried)).toBe('400 invalid_grant');
    expectNothingOfTheirs(tried);
    expect([await newest(owner), await newest(stranger)]).toEqual(before);
    for (const session of [victim, attacker]) expect(await isActive({ service }, session)).toBe(true);
    expect((await refresh({ service }, victim)).status).toBe(200);
  });
});
