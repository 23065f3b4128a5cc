import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RAISED_LIMITS } from '../../../src/raised-limits.ts';
import { type Answer, type Call, type Doors, bearer, doorsOf, done, gist, spread, tally } from './doors.ts';
import { LOAD_WEBHOOK_ENV, type World, makeWorld } from '../load/world.ts';
import { CONTROL_PLANES, type Scale, startScale } from './scale.ts';
import {
  type Agent,
  CREDENTIALS,
  PROXY,
  type Proxy,
  askFor,
  attach,
  callTool,
  makeAgent,
  makeProxy,
  rpc,
} from './agents.ts';
import {
  addMember,
  approvedCode,
  approvedLogin,
  askTokens,
  exchangeLogin,
  signIn,
  tokenIn,
  useLink,
} from './people.ts';

/*
 * What is decided at one of three control planes holds at each of the others for the next request: as soon as the one has
 * answered, the others are asked.
 */

let scale: Scale;
let doors: Doors;
let world: World;
let admin: Call;
/** The admin key at each control plane. */
let admins: readonly [Call, Call, Call];
beforeAll(async () => {
  scale = await startScale({
    env: {
      ...RAISED_LIMITS,
      SV_LIMIT_OAUTH_REGISTER: '1000',
      SV_LIMIT_OAUTH_AUTHORIZE: '1000',
      SV_LIMIT_CLI_LOGIN_BEGIN: '1000',
      SV_LIMIT_CLI_LOGIN_EXCHANGE: '1000',
    },
    webhookEnv: LOAD_WEBHOOK_ENV,
  });
  doors = await doorsOf(scale);
  world = await makeWorld(scale, { readers: 0, proxies: 0 });
  admin = bearer(doors.proxy, scale.adminKey);
  const [one, two, three] = doors.direct;
  admins = [bearer(one, scale.adminKey), bearer(two, scale.adminKey), bearer(three, scale.adminKey)];
});
afterAll(async () => {
  await doors?.close();
  await world?.remove();
  await scale?.remove();
});

/** A control plane at which something changes, and the other two and the proxy. */
function turn(round: number): { readonly here: Call; readonly elsewhere: readonly Call[] } {
  const at = round % 3;
  const here = admins[at] as Call;
  return { here, elsewhere: [...doors.direct.filter((_, index) => index !== at), doors.proxy] };
}

/** An agent with the credential of the world, and a proxy that is its own. */
async function equipped(): Promise<{ readonly agent: Agent; readonly proxy: Proxy }> {
  const agent = await makeAgent(admin, world.serviceName);
  const settings = {
    upstreamUrl: 'http://upstream:8080/mcp',
    serviceName: world.serviceName,
    agentId: agent.id,
  };
  return { agent, proxy: await makeProxy(admin, settings) };
}

/** The next request at each of some doors, by REST, by MCP and through the proxy. */
const next = (
  elsewhere: readonly Call[],
  { agent, proxy }: { readonly agent: Agent; readonly proxy: Proxy },
): Promise<readonly string[]> =>
  Promise.all(
    elsewhere.map(async (door) => {
      const answers = await Promise.all([
        askFor(door, agent, world.serviceName),
        callTool(door, agent.apiKey, 'get_credential', { service: world.serviceName }),
        rpc(door, proxy.key, 'tools/list', {}, PROXY),
      ]);
      return answers.map(gist).join(', ');
    }),
  );

const at = (what: string): readonly string[] => [what, what, what];
const SERVED = at('307, 200, 200');

describe('in force at the others for the next request', () => {
  test('a suspend and a resume, 50 times', { timeout: 120_000 }, async () => {
    const caller = await equipped();
    const inactive = at('403 AGENT_INACTIVE, 403 AGENT_INACTIVE, 403 AGENT_INACTIVE');
    expect(await next(turn(0).elsewhere, caller)).toEqual(SERVED);
    for (let round = 0; round < 50; round += 1) {
      const { here, elsewhere } = turn(round);
      await done(here('POST', `/api/agents/${caller.agent.id}/suspend`));
      expect([round, await next(elsewhere, caller)]).toEqual([round, inactive]);
      await done(here('POST', `/api/agents/${caller.agent.id}/resume`));
      expect([round, await next(elsewhere, caller)]).toEqual([round, SERVED]);
    }
  });

  test.each([0, 1, 2])('everything that an owner takes away, at control plane %i', async (where) => {
    const { here, elsewhere } = turn(where);
    const caller = await equipped();
    const { agent, proxy } = caller;
    const path = `/api/agents/${agent.id}`;
    const then = async (change: Promise<unknown>): Promise<readonly string[]> => {
      await change;
      return next(elsewhere, caller);
    };
    const take = (method: string, to: string, body?: object) =>
      then(done(here(method, to, body === undefined ? {} : { body })));

    expect(await take('DELETE', `${path}/grants/${world.serviceName}`)).toEqual(
      at('404 NO_GRANT, 200 NO_GRANT, 200'),
    );
    expect(await take('POST', `${path}/grants`, { serviceName: world.serviceName })).toEqual(SERVED);

    expect(await take('POST', '/api/vault/lock')).toEqual(
      at('423 VAULT_LOCKED, 200 VAULT_LOCKED, 423 VAULT_LOCKED'),
    );
    expect(await take('POST', '/api/vault/unlock')).toEqual(SERVED);

    const policyId = await attach(here, 'agent', agent.id, { type: 'manual_approval' });
    expect(await next(elsewhere, caller)).toEqual(at('403 POLICY_DENIED, 200 POLICY_DENIED, 200'));
    expect(await take('PATCH', `/api/policies/${policyId}`, { enabled: false })).toEqual(SERVED);
    expect(await take('PATCH', `/api/policies/${policyId}`, { enabled: true })).toEqual(
      at('403 POLICY_DENIED, 200 POLICY_DENIED, 200'),
    );
    expect(await take('DELETE', `/api/policies/${policyId}`)).toEqual(SERVED);
    const ofProxy = await attach(here, 'proxy', proxy.id, { type: 'manual_approval' });
    expect(await next(elsewhere, caller)).toEqual(at('307, 200, 403 POLICY_DENIED'));
    expect(await take('DELETE', `/api/policies/${ofProxy}`)).toEqual(SERVED);

    expect(await take('PATCH', path, { mcpEnabled: false })).toEqual(at('307, 403 MCP_DISABLED, 200'));
    expect(await take('PATCH', path, { mcpEnabled: true })).toEqual(SERVED);

    const { apiKey } = await done(here('POST', `${path}/rotate-key`));
    expect(await next(elsewhere, caller)).toEqual(at('403 INVALID_KEY, 401 INVALID_KEY, 200'));
    const rotated = { ...caller, agent: { ...agent, apiKey } };
    expect(await next(elsewhere, rotated)).toEqual(SERVED);

    await done(here('POST', `/api/proxies/${proxy.id}/revoke`));
    expect(await next(elsewhere, rotated)).toEqual(at('307, 200, 403 INVALID_KEY'));
    await done(here('DELETE', path));
    expect(await next(elsewhere, rotated)).toEqual(
      at('403 AGENT_INACTIVE, 403 AGENT_INACTIVE, 403 INVALID_KEY'),
    );
  });

  test('one request in all removes an expired grant, and gets GRANT_EXPIRED', async () => {
    for (let round = 0; round < 10; round += 1) {
      const agent = await makeAgent(admin, world.serviceName);
      await endGrantsOf(agent.id);
      const lists = await Promise.all(
        doors.direct.map((door) => bearer(door, agent.apiKey)('GET', CREDENTIALS)),
      );
      for (const { json } of lists) expect(json.grants).toEqual([]);
      const answers = await Promise.all(doors.direct.map((door) => askFor(door, agent, world.serviceName)));
      expect(answers.map(gist).sort()).toEqual(['403 GRANT_EXPIRED', '404 NO_GRANT', '404 NO_GRANT']);
    }
  });

  /** As if its time had come: no grant lasts less than an hour. */
  async function endGrantsOf(agentId: string): Promise<void> {
    const postgres = await scale.service('postgres');
    const sql = `UPDATE grants SET grant_expires_at = '2026-01-01T00:00:00.000Z' WHERE agent_id = '${agentId}'`;
    const { exitCode, output } = await postgres.run('psql', '-U', 'svault', '-c', sql);
    expect([exitCode, output.trim()]).toEqual([0, 'UPDATE 1']);
  }
});

describe('people', () => {
  const me = async (call: Call): Promise<number> => (await call('GET', '/api/me')).status;

  /** A person with everything that lets somebody in, made in turns at all control planes. */
  async function withEverything(round: number) {
    const [one, two, three] = doors.direct;
    const person = await signIn(admins[round % 3] as Call, two, scale.url, 'admin');
    const { key } = await done(person.in(three)('POST', '/api/admin-keys', { body: { name: 'k' } }));
    const login = await approvedLogin(person, [two, three, one]);
    const { accessToken } = await done(exchangeLogin(three, login));
    const agent = await makeAgent(admin, world.serviceName);
    const tokens = await done(askTokens(two, await approvedCode(person, agent.id, [one, two, three])));
    const { access_token: mcp } = tokens as { access_token: string };
    /** Session, admin key, command line and MCP client at each door. */
    const letIn = (): Promise<readonly (readonly number[])[]> =>
      Promise.all(
        doors.all.map((door) =>
          Promise.all([
            me(person.in(door)),
            me(bearer(door, key)),
            me(bearer(door, accessToken)),
            callTool(door, mcp, 'whoami').then(({ status }) => status),
          ]),
        ),
      );
    return { id: person.id, letIn, mcp, agent };
  }

  const everywhere = (...statuses: number[]) => [statuses, statuses, statuses, statuses];

  test('who is removed is out everywhere: session, key, command line, MCP client', async () => {
    for (let round = 0; round < 3; round += 1) {
      const they = await withEverything(round);
      expect(await they.letIn()).toEqual(everywhere(200, 200, 200, 200));
      await done(turn(round).here('DELETE', `/api/members/${they.id}`));
      expect(await they.letIn()).toEqual(everywhere(401, 401, 401, 401));
    }
  });

  test('a session that is ended is over everywhere, and no other is', async () => {
    const they = await withEverything(1);
    const { items } = await done(admin('GET', '/api/sessions?limit=100'));
    const own = (items as { id: string; userId: string }[]).filter(({ userId }) => userId === they.id);
    expect(own).toHaveLength(3);
    for (const [index, { id }] of own.entries())
      await done(turn(index).here('DELETE', `/api/sessions/${id}`));
    expect(await they.letIn()).toEqual(everywhere(401, 200, 401, 401));
  });

  test('an MCP client is out with its agent, and when it revokes', async () => {
    const they = await withEverything(2);
    const [one, two] = doors.direct;
    await done(admins[0]('POST', `/api/agents/${they.agent.id}/suspend`));
    expect(await they.letIn()).toEqual(everywhere(200, 200, 200, 403));
    await done(admins[1]('POST', `/api/agents/${they.agent.id}/resume`));
    expect(await they.letIn()).toEqual(everywhere(200, 200, 200, 200));
    await one('POST', '/api/mcp-oauth/revoke', { form: { token: they.mcp } });
    const asked = await done(two('POST', '/api/mcp-oauth/introspect', { form: { token: they.mcp } }));
    expect(asked).toEqual({ active: false });
    expect(await they.letIn()).toEqual(everywhere(200, 200, 200, 401));
  });
});

describe('what works once works at one of three that are asked at the same time', () => {
  const ROUNDS = 5;
  /** Of three requests at once, one at each control plane, in one order of their beginning after the other. */
  const race = (round: number, ask: (door: Call) => Promise<Answer>): Promise<Answer[]> =>
    Promise.all([0, 1, 2].map((n) => ask(doors.direct[(round + n) % 3] as Call)));
  const statuses = (answers: readonly Answer[]): readonly number[] =>
    answers.map(({ status }) => status).sort((a, b) => a - b);

  test('a link that signs in', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { linkToken } = await addMember(admin);
      expect(statuses(await race(round, (door) => useLink(door, linkToken)))).toEqual([200, 401, 401]);
    }
  });

  test('the owner’s link, made in one container', async () => {
    const beside = await scale.service('control-plane-3');
    const { output } = await beside.run('node', '/svault/control-plane/src/main.ts', 'owner-link');
    const token = tokenIn(output.trim());
    expect(statuses(await race(0, (door) => useLink(door, token)))).toEqual([200, 401, 401]);
  });

  test('the code of a command line', async () => {
    const person = await signIn(admin, doors.direct[0], scale.url);
    for (let round = 0; round < ROUNDS; round += 1) {
      const login = await approvedLogin(person, doors.direct);
      const answers = await race(round, (door) => exchangeLogin(door, login));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    }
  });

  test('the code of an MCP client; and used twice it ends what it gave', async () => {
    const person = await signIn(admin, doors.direct[1], scale.url);
    const agent = await makeAgent(admin);
    for (let round = 0; round < ROUNDS; round += 1) {
      const form = await approvedCode(person, agent.id, doors.direct);
      const answers = await race(round, (door) => askTokens(door, form));
      const [given, ...more] = answers.filter(({ status }) => status === 200);
      expect(more).toEqual([]);
      const token = given?.json.access_token as string;
      for (const door of doors.direct) expect((await callTool(door, token, 'whoami')).status).toBe(401);
    }
  });

  test('a refresh gives one pair on every control plane, and the pair is valid on all', async () => {
    const person = await signIn(admin, doors.direct[2], scale.url);
    const agent = await makeAgent(admin);
    const form = await approvedCode(person, agent.id, doors.direct);
    const first = await done(askTokens(doors.proxy, form));
    const refresh = {
      grant_type: 'refresh_token',
      refresh_token: first.refresh_token as string,
      client_id: form['client_id'] ?? '',
    };
    const answers = await race(0, (door) => askTokens(door, refresh));
    expect(statuses(answers)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ json }) => `${json.access_token} ${json.refresh_token}`)).size).toBe(1);
    for (const door of doors.all)
      expect((await callTool(door, answers[0]?.json.access_token, 'whoami')).status).toBe(200);
  });
});

describe('the log of all three', () => {
  const MAIN = '/svault/control-plane/src/main.ts';

  interface LoggedEvent {
    readonly seq: number;
    readonly id: string;
    readonly eventType: string;
    readonly outcome: string;
  }

  /** Newest first. */
  async function logOf(asked: Call, query: string): Promise<readonly LoggedEvent[]> {
    const events: LoggedEvent[] = [];
    let cursor: string | undefined;
    do {
      const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { items, nextCursor } = await done(asked('GET', `/api/audit?limit=100${query}${more}`));
      events.push(...(items as LoggedEvent[]));
      cursor = nextCursor as string | undefined;
    } while (cursor !== undefined);
    return events;
  }

  test('has each access and each denial once, in one chain that holds, the same at each', async () => {
    const agent = await makeAgent(admin, world.serviceName);
    const answers = await spread(60, doors.all, (door, n) =>
      askFor(door, agent, n % 2 === 0 ? world.serviceName : 'unheard-of'),
    );
    expect(tally(answers)).toEqual({ '307': 30, '404 NO_GRANT': 30 });
    const logs = await Promise.all(admins.map((each) => logOf(each, `&agentId=${agent.id}`)));
    const accesses = logs[0]?.filter(({ eventType }) => eventType === 'AGENT_CREDENTIAL_ACCESS') ?? [];
    const outcomes = Object.groupBy(accesses, ({ outcome }) => outcome);
    expect([outcomes['success']?.length, outcomes['denied']?.length]).toEqual([30, 30]);
    expect([logs[1], logs[2]]).toEqual([logs[0], logs[0]]);

    const whole = await logOf(admin, '');
    expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, index) => whole.length - index));
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
    for (const name of CONTROL_PLANES) {
      const { exitCode, output } = await (await scale.service(name)).run('node', MAIN, 'audit', 'verify');
      expect([name, exitCode, output]).toEqual([name, 0, expect.stringContaining('intact')]);
    }
    expect(whole.filter(({ eventType }) => eventType === 'WEBHOOK_LOG_CONTRADICTION')).toEqual([]);
  });
});
