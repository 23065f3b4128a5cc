import { expect } from 'vitest';
import { type Call, clientOf } from '../support/management-service.ts';
import { storeOn } from '../support/pair-agents.ts';
import { expectRefusal } from './answers.ts';
import { type Fixture, times, useFloor, test } from './fixture.ts';
import { spec } from '@svault/test-kit/spec';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const post = (fixture: Fixture, path: string) => fixture.admin('POST', path);
const statusOf = async ({ admin }: Fixture, id: string): Promise<string> =>
  (await admin('GET', `/api/agents/${id}`)).json.status as string;

/** Stores a secret once and gives the name of the token. */
async function stored(fixture: Fixture, serviceName: string): Promise<string> {
  if ((await fixture.admin('GET', `/api/tokens/${serviceName}`)).status === 404)
    await storeOn(fixture.pair, serviceName, { tokenType: 'PlainText', value: 'v' });
  return serviceName;
}

/** A client with the session of a member who is no admin. */
async function someMember({ pair, admin, anyone }: Fixture): Promise<Call> {
  const invited = await admin('POST', '/api/members', {
    body: { email: 'member@example.org', role: 'member' },
  });
  const link = new URL(invited.json.link.url as string);
  const token = link.searchParams.get('token');
  const { headers } = await anyone('POST', '/api/login/link', { body: { token } });
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
  return clientOf(pair.controlPlaneUrl(), { cookie, origin: link.origin });
}

test(
  'an agent is created active, with an API key that is shown once',
  spec(
    'Agent | (new) | create agent | a name is supplied | active | An API key is generated and shown once.',
  ),
  async ({ fixture }) => {
    const github = await stored(fixture, 'github');
    expect((await fixture.admin('POST', '/api/agents', { body: {} })).status).toBe(422);
    const { status, json } = await fixture.admin('POST', '/api/agents', { body: { name: 'builder' } });
    expect(status).toBe(201);
    expect(json.agent.status).toBe('active');
    expect(json.apiKey).toMatch(/^svagent_/);
    // Shown once: neither the agent nor the list of agents has it again.
    for (const path of [`/api/agents/${json.agent.id}`, '/api/agents'])
      expect((await fixture.admin('GET', path)).text).not.toContain(json.apiKey);
    const agent = await fixture.agent(github);
    expect((await agent.fetch(github)).json.token.accessToken).toBe('v');
  },
);

test(
  'a suspended agent is denied every request',
  spec(
    'Agent | active | suspend (dashboard or CLI suspend) | none stated | suspended | All requests with its key get 403 AGENT_INACTIVE. Both REST',
  ),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    expect((await post(fixture, `/api/agents/${agent.id}/suspend`)).status).toBe(200);
    expect(await statusOf(fixture, agent.id)).toBe('suspended');
    for (const name of ['github', 'nothing', 'a/b'])
      expectRefusal(await agent.ask(name), '403 AGENT_INACTIVE');
    expectRefusal(await agent.list(), '403 AGENT_INACTIVE');
  },
);

test(
  'a resumed agent is served again',
  spec('Agent | suspended | resume (CLI resume) | none stated | active | none stated'),
  async ({ fixture }) => {
    const github = await stored(fixture, 'github');
    const agent = await fixture.agent(github);
    await post(fixture, `/api/agents/${agent.id}/suspend`);
    await post(fixture, `/api/agents/${agent.id}/resume`);
    expect(await statusOf(fixture, agent.id)).toBe('active');
    expect((await agent.fetch(github)).json.token.accessToken).toBe('v');
  },
);

test(
  'a deleted agent is denied every request and stays deleted',
  spec('Agent | active or suspended | delete | none stated | deleted | Requests get 403 AGENT_INACTIVE.'),
  async ({ fixture }) => {
    for (const state of ['active', 'suspended']) {
      const agent = await fixture.agent('github');
      if (state === 'suspended') await post(fixture, `/api/agents/${agent.id}/suspend`);
      await fixture.admin('DELETE', `/api/agents/${agent.id}`);
      expect(await statusOf(fixture, agent.id)).toBe('deleted');
      expectRefusal(await agent.ask('github'), '403 AGENT_INACTIVE');
      expectRefusal(await agent.list(), '403 AGENT_INACTIVE');
      // For good.
      for (const verb of ['resume', 'suspend', 'rotate-key', 'reveal-key'])
        expect((await post(fixture, `/api/agents/${agent.id}/${verb}`)).json.code).toBe('CONFLICT');
      expectRefusal(await agent.ask('github'), '403 AGENT_INACTIVE');
    }
  },
);

test(
  'a grant is created without asking whether the webhook holds the credential',
  spec(
    'Grant | (none) | grant created | a vault token is selected | active | No check that the webhook holds the credential.',
  ),
  async ({ fixture }) => {
    const agent = await fixture.agent();
    const body = { serviceName: 'never-stored' };
    const { status, json } = await fixture.admin('POST', `/api/agents/${agent.id}/grants`, { body });
    expect([status, json.status]).toEqual([201, 'active']);
    // The service asks nobody whether it exists; the webhook, which owns storage, says that it does not.
    const answer = await agent.fetch('never-stored');
    expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);
    await storeOn(fixture.pair, 'never-stored', { tokenType: 'PlainText', value: 'now it is' });
    expect((await agent.fetch('never-stored')).json.token.accessToken).toBe('now it is');
  },
);

test(
  'an expired grant is left out of list mode',
  spec(
    'Grant | active | expiry time passes | grantExpiresAt is reached | expired | Expired grants are omitted from list mode.',
  ),
  async ({ fixture }) => {
    const agent = await fixture.agent();
    await fixture.grant(agent, { serviceName: 'hourly', expiresInSeconds: 3_600 });
    fixture.wait(HOUR_MS - 1);
    expect((await agent.list()).json.grants).toMatchObject([{ serviceName: 'hourly' }]);
    expect((await agent.ask('hourly')).status).toBe(307);
    fixture.wait(1);
    expect((await agent.list()).json).toEqual({ grants: [] });
    const { items } = (await fixture.admin('GET', `/api/agents/${agent.id}/grants`)).json;
    expect(items).toMatchObject([{ status: 'expired' }]);
  },
);

test(
  'the next request for an expired grant deletes it and is 403 GRANT_EXPIRED',
  spec(
    'Grant | expired | next credential request for that service | none | deleted | The request answers 403 GRANT_EXPIRED.',
  ),
  async ({ fixture }) => {
    const agent = await fixture.agent();
    await fixture.grant(agent, { serviceName: 'hourly', expiresInSeconds: 3_600 });
    fixture.wait(HOUR_MS);
    // Another service's request leaves it; its own deletes it.
    expectRefusal(await agent.ask('other'), '404 NO_GRANT');
    const grants = async () => (await fixture.admin('GET', `/api/agents/${agent.id}/grants`)).json.items;
    expect(await grants()).toHaveLength(1);
    expectRefusal(await agent.ask('hourly'), '403 GRANT_EXPIRED');
    expect(await grants()).toEqual([]);
    expectRefusal(await agent.ask('hourly'), '404 NO_GRANT');
    const events = `/api/audit?agentId=${agent.id}&eventType=GRANT_EXPIRED`;
    expect((await fixture.admin('GET', events)).json.items).toHaveLength(1);
  },
);

test(
  'a revoked grant is missing from the next request on',
  spec(
    "Grant | active | revoke (dashboard, CLI gr rm) | none | removed | The agent's next request gets an error (NO_GRANT).",
  ),
  async ({ fixture }) => {
    const agent = await fixture.agent('github', 'other');
    expect((await agent.ask('github')).status).toBe(307);
    expect((await fixture.admin('DELETE', `/api/agents/${agent.id}/grants/github`)).status).toBe(204);
    expectRefusal(await agent.ask('github'), '404 NO_GRANT');
    expect((await agent.list()).json.grants).toMatchObject([{ serviceName: 'other' }]);
  },
);

test(
  'a locked vault blocks changes and credential requests',
  spec(
    'Vault | unlocked | lock | none | locked | Mutating operations are blocked. Agent credential requests answer 423 VAULT_LOCKED.',
  ),
  async ({ fixture }) => {
    const github = await stored(fixture, 'github');
    const agent = await fixture.agent(github);
    expect((await post(fixture, '/api/vault/lock')).json).toMatchObject({ locked: true });
    expectRefusal(await agent.ask(github), '423 VAULT_LOCKED');
    expect((await agent.list()).json.grants).toHaveLength(1);
    for (const [method, path] of [
      ['POST', `/api/agents/${agent.id}/suspend`],
      ['DELETE', `/api/agents/${agent.id}/grants/${github}`],
      ['POST', `/api/tokens/${github}/store-ticket`],
      ['DELETE', '/api/webhook'],
    ] as const)
      expect((await fixture.admin(method, path)).json).toMatchObject({ code: 'VAULT_LOCKED' });
    await post(fixture, '/api/vault/unlock');
  },
);

test(
  'only an admin unlocks the vault',
  spec('Vault | locked | unlock | admin only | unlocked | none stated'),
  async ({ fixture }) => {
    const github = await stored(fixture, 'github');
    const agent = await fixture.agent(github);
    const member = await someMember(fixture);
    await post(fixture, '/api/vault/lock');
    expect((await fixture.anyone('POST', '/api/vault/unlock')).status).toBe(401);
    expect((await member('POST', '/api/vault/unlock')).status).toBe(403);
    expectRefusal(await agent.ask(github), '423 VAULT_LOCKED');
    expect((await post(fixture, '/api/vault/unlock')).json).toMatchObject({ locked: false });
    expect((await agent.fetch(github)).json.token.accessToken).toBe('v');
  },
);

test(
  'the lockout doubles with each strike and is listed while it lasts',
  spec(
    'Penalty box | clear | floor limit exceeded | see Limits | locked out | Lockout length doubles with each strike.',
  ),
  async ({ fixture }) => {
    const [agent, clear] = await fixture.agents(2);
    const boxed = async () => (await fixture.admin('GET', '/api/limits/lockouts')).json.items;
    expect(await boxed()).toEqual([]);
    for (const [strikes, seconds] of [
      [1, 1],
      [2, 2],
      [3, 4],
    ] as const) {
      await useFloor(fixture, agent!);
      fixture.wait(MINUTE_MS - 500);
      expect((await agent!.list()).json.retryAfter).toBe(seconds);
      expect(await boxed()).toMatchObject([{ callerId: agent!.id, strikes, retryAfter: seconds }]);
      for (const answer of await times(3, () => agent!.list())) expectRefusal(answer, '429 RATE_LIMITED');
      expect((await clear!.list()).status).toBe(200);
      fixture.wait(seconds * 1_000);
      expect(await boxed()).toEqual([]);
    }
  },
);
