import { expect } from 'vitest';
import { type Call, clientOf } from '../management-service.ts';
import { storeOn } from '../pair-agents.ts';
import { expectRefusal } from './answers.ts';
import { useFloor } from './floor-plays.ts';
import type { Row } from './row.ts';
import { type Play, type Stage, times } from './stage.ts';
import type { STATE_ROWS } from './state-rows.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const post = (stage: Stage, path: string) => stage.admin('POST', path);
const statusOf = async ({ admin }: Stage, id: string): Promise<string> =>
  (await admin('GET', `/api/agents/${id}`)).json.status as string;

/** Stores a secret once and gives the name of the token. */
async function stored(stage: Stage, serviceName: string): Promise<string> {
  if ((await stage.admin('GET', `/api/tokens/${serviceName}`)).status === 404)
    await storeOn(stage.pair, serviceName, { tokenType: 'PlainText', value: 'v' });
  return serviceName;
}

/** A client with the session of a member who is no admin. */
async function someMember({ pair, admin, anyone }: Stage): Promise<Call> {
  const invited = await admin('POST', '/api/members', {
    body: { email: 'member@example.org', role: 'member' },
  });
  const link = new URL(invited.json.link.url as string);
  const token = link.searchParams.get('token');
  const { headers } = await anyone('POST', '/api/login/link', { body: { token } });
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
  return clientOf(pair.controlPlaneUrl(), { cookie, origin: link.origin });
}

export const STATE_PLAYS = {
  'agent: create': async (stage) => {
    const github = await stored(stage, 'github');
    expect((await stage.admin('POST', '/api/agents', { body: {} })).status).toBe(422);
    const { status, json } = await stage.admin('POST', '/api/agents', { body: { name: 'builder' } });
    expect(status).toBe(201);
    expect(json.agent.status).toBe('active');
    expect(json.apiKey).toMatch(/^svagent_/);
    // Shown once: neither the agent nor the list of agents has it again.
    for (const path of [`/api/agents/${json.agent.id}`, '/api/agents'])
      expect((await stage.admin('GET', path)).text).not.toContain(json.apiKey);
    const agent = await stage.agent(github);
    expect((await agent.fetch(github)).json.token.accessToken).toBe('v');
  },

  'agent: suspend': async (stage) => {
    const agent = await stage.agent('github');
    expect((await post(stage, `/api/agents/${agent.id}/suspend`)).status).toBe(200);
    expect(await statusOf(stage, agent.id)).toBe('suspended');
    for (const name of ['github', 'nothing', 'a/b'])
      expectRefusal(await agent.ask(name), '403 AGENT_INACTIVE');
    expectRefusal(await agent.list(), '403 AGENT_INACTIVE');
  },

  'agent: resume': async (stage) => {
    const github = await stored(stage, 'github');
    const agent = await stage.agent(github);
    await post(stage, `/api/agents/${agent.id}/suspend`);
    await post(stage, `/api/agents/${agent.id}/resume`);
    expect(await statusOf(stage, agent.id)).toBe('active');
    expect((await agent.fetch(github)).json.token.accessToken).toBe('v');
  },

  'agent: delete': async (stage) => {
    for (const state of ['active', 'suspended']) {
      const agent = await stage.agent('github');
      if (state === 'suspended') await post(stage, `/api/agents/${agent.id}/suspend`);
      await stage.admin('DELETE', `/api/agents/${agent.id}`);
      expect(await statusOf(stage, agent.id)).toBe('deleted');
      expectRefusal(await agent.ask('github'), '403 AGENT_INACTIVE');
      expectRefusal(await agent.list(), '403 AGENT_INACTIVE');
      // For good.
      for (const verb of ['resume', 'suspend', 'rotate-key', 'reveal-key'])
        expect((await post(stage, `/api/agents/${agent.id}/${verb}`)).json.code).toBe('CONFLICT');
      expectRefusal(await agent.ask('github'), '403 AGENT_INACTIVE');
    }
  },

  'grant: create': async (stage) => {
    const agent = await stage.agent();
    const body = { serviceName: 'never-stored' };
    const { status, json } = await stage.admin('POST', `/api/agents/${agent.id}/grants`, { body });
    expect([status, json.status]).toEqual([201, 'active']);
    // The service asks nobody whether it exists; the webhook, which owns storage, says that it does not.
    const answer = await agent.fetch('never-stored');
    expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);
    await storeOn(stage.pair, 'never-stored', { tokenType: 'PlainText', value: 'now it is' });
    expect((await agent.fetch('never-stored')).json.token.accessToken).toBe('now it is');
  },

  'grant: expire': async (stage) => {
    const agent = await stage.agent();
    await stage.grant(agent, { serviceName: 'hourly', expiresInSeconds: 3_600 });
    stage.wait(HOUR_MS - 1);
    expect((await agent.list()).json.grants).toMatchObject([{ serviceName: 'hourly' }]);
    expect((await agent.ask('hourly')).status).toBe(307);
    stage.wait(1);
    expect((await agent.list()).json).toEqual({ grants: [] });
    const { items } = (await stage.admin('GET', `/api/agents/${agent.id}/grants`)).json;
    expect(items).toMatchObject([{ status: 'expired' }]);
  },

  'grant: delete': async (stage) => {
    const agent = await stage.agent();
    await stage.grant(agent, { serviceName: 'hourly', expiresInSeconds: 3_600 });
    stage.wait(HOUR_MS);
    // Another service's request leaves it; its own deletes it.
    expectRefusal(await agent.ask('other'), '404 NO_GRANT');
    const grants = async () => (await stage.admin('GET', `/api/agents/${agent.id}/grants`)).json.items;
    expect(await grants()).toHaveLength(1);
    expectRefusal(await agent.ask('hourly'), '403 GRANT_EXPIRED');
    expect(await grants()).toEqual([]);
    expectRefusal(await agent.ask('hourly'), '404 NO_GRANT');
    const events = `/api/audit?agentId=${agent.id}&eventType=GRANT_EXPIRED`;
    expect((await stage.admin('GET', events)).json.items).toHaveLength(1);
  },

  'grant: revoke': async (stage) => {
    const agent = await stage.agent('github', 'other');
    expect((await agent.ask('github')).status).toBe(307);
    expect((await stage.admin('DELETE', `/api/agents/${agent.id}/grants/github`)).status).toBe(204);
    expectRefusal(await agent.ask('github'), '404 NO_GRANT');
    expect((await agent.list()).json.grants).toMatchObject([{ serviceName: 'other' }]);
  },

  'vault: lock': async (stage) => {
    const github = await stored(stage, 'github');
    const agent = await stage.agent(github);
    expect((await post(stage, '/api/vault/lock')).json).toMatchObject({ locked: true });
    expectRefusal(await agent.ask(github), '423 VAULT_LOCKED');
    expect((await agent.list()).json.grants).toHaveLength(1);
    for (const [method, path] of [
      ['POST', `/api/agents/${agent.id}/suspend`],
      ['DELETE', `/api/agents/${agent.id}/grants/${github}`],
      ['POST', `/api/tokens/${github}/store-ticket`],
      ['DELETE', '/api/webhook'],
    ] as const)
      expect((await stage.admin(method, path)).json).toMatchObject({ code: 'VAULT_LOCKED' });
    await post(stage, '/api/vault/unlock');
  },

  'vault: unlock': async (stage) => {
    const github = await stored(stage, 'github');
    const agent = await stage.agent(github);
    const member = await someMember(stage);
    await post(stage, '/api/vault/lock');
    expect((await stage.anyone('POST', '/api/vault/unlock')).status).toBe(401);
    expect((await member('POST', '/api/vault/unlock')).status).toBe(403);
    expectRefusal(await agent.ask(github), '423 VAULT_LOCKED');
    expect((await post(stage, '/api/vault/unlock')).json).toMatchObject({ locked: false });
    expect((await agent.fetch(github)).json.token.accessToken).toBe('v');
  },

  'penalty box: lock out': async (stage) => {
    const [agent, clear] = await stage.agents(2);
    const boxed = async () => (await stage.admin('GET', '/api/limits/lockouts')).json.items;
    expect(await boxed()).toEqual([]);
    for (const [strikes, seconds] of [
      [1, 1],
      [2, 2],
      [3, 4],
    ] as const) {
      await useFloor(stage, agent!);
      stage.wait(MINUTE_MS - 500);
      expect((await agent!.list()).json.retryAfter).toBe(seconds);
      expect(await boxed()).toMatchObject([{ callerId: agent!.id, strikes, retryAfter: seconds }]);
      for (const answer of await times(3, () => agent!.list())) expectRefusal(answer, '429 RATE_LIMITED');
      expect((await clear!.list()).status).toBe(200);
      stage.wait(seconds * 1_000);
      expect(await boxed()).toEqual([]);
    }
  },
} as const satisfies Partial<Record<keyof typeof STATE_ROWS, Play<Row>>>;
