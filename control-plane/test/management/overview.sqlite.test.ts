import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addEvents } from '../support/beside-the-service.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { serveOn } from '../support/management-service.ts';
import { addMember } from '../support/members.ts';

const HOUR = 3_600_000;

let service: LinkedService;
beforeEach(async () => {
  service = await startLinkedService();
});
afterEach(() => service.stop());

const overview = async () => (await service.admin('GET', '/api/overview')).json;
const post = (path: string, body: object = {}) => service.admin('POST', path, { body });

describe('the overview', () => {
  test('the overview counts items by state, of which a new account has none', async () => {
    expect(await overview()).toEqual({
      vault: { locked: false, lockedAt: null },
      agents: { active: 0, suspended: 0 },
      tokens: 0,
      folders: 0,
      grants: { live: 0, endingSoon: 0 },
      policies: 0,
      proxies: 0,
      countedUpTo: 10_000,
      activity: {
        ...{ since: '2026-11-19T13:00:00.000Z', complete: true },
        ...{ accesses: 0, denied: 0, rateLimited: 0, errors: 0 },
      },
      webhook: { bound: false },
      lockouts: 0,
    });
    await service.bind();
    for (const serviceName of ['github', 'npm']) await post('/api/tokens', { serviceName, tokenType: 'JWT' });
    await post('/api/folders', { name: 'ci', serviceNames: ['npm'] });
    await post('/api/policies', { name: 'p', rules: [{ type: 'manual_approval' }] });
    const [one, two, three] = [
      await service.agent('github'),
      await service.agent(),
      await service.agent('x'),
    ];
    await post(`/api/agents/${two.id}/suspend`);
    await service.admin('DELETE', `/api/agents/${three.id}`);
    const proxy = {
      name: 'p',
      upstreamUrl: 'https://mcp.example.com/',
      serviceName: 'github',
      allowMissing: true,
    };
    for (let count = 0; count < 3; count++) await post('/api/proxies', { ...proxy, name: `p ${count}` });
    const [revoked] = (await service.admin('GET', '/api/proxies')).json.items as { id: string }[];
    await post(`/api/proxies/${revoked?.id}/revoke`);
    for (const [serviceName, hours] of [
      ['ends-first', 2],
      ['ends-soon', 24],
      ['ends-later', 25],
    ] as const)
      await post(`/api/agents/${one.id}/grants`, {
        allowMissing: true,
        serviceName,
        expiresInSeconds: hours * 3_600,
      });
    expect(await overview()).toMatchObject({
      agents: { active: 1, suspended: 1 },
      tokens: 2,
      folders: 1,
      grants: { live: 4, endingSoon: 2 },
      policies: 1,
      proxies: 2,
    });
    service.clock.advance(2 * HOUR);
    expect((await overview()).grants).toEqual({ live: 3, endingSoon: 2 });
    await post('/api/vault/lock');
    expect((await overview()).vault).toEqual({ locked: true, lockedAt: '2026-11-20T14:00:00.000Z' });
  });

  test('the overview counts credential requests of the last 24 hours by outcome', async () => {
    await service.bind();
    const agent = await service.agent('github');
    await agent.get('github');
    await agent.get('unknown');
    service.clock.advance(23 * HOUR);
    await service.runJob('activity counts');
    for (let times = 0; times < 3; times++) await agent.get('github');
    service.clock.advance(HOUR - 1);
    expect((await overview()).activity).toEqual({
      since: '2026-11-20T12:00:00.000Z',
      complete: true,
      accesses: 4,
      denied: 1,
      rateLimited: 0,
      errors: 0,
    });
    service.clock.advance(1);
    expect((await overview()).activity).toMatchObject({ accesses: 3, denied: 0 });
    await service.admin('DELETE', '/api/webhook');
    await agent.get('github');
    expect((await overview()).activity).toMatchObject({ accesses: 3, errors: 1 });
  });

  test('the overview counts coalesced events by their count, and lists lockouts', async () => {
    const agent = await service.agent();
    for (let times = 0; times < 61; times++) await agent.list();
    for (let times = 0; times < 4; times++) await agent.list();
    expect((await overview()).lockouts).toBe(1);
    service.clock.advance(2 * 60_000);
    expect((await overview()).lockouts).toBe(0);
    // Written once a minute, and at the end.
    await service.running.close();
    const again = await serveOn(service.place, service.clock);
    const { activity } = (await again.admin('GET', '/api/overview')).json;
    await again.running.close();
    expect(activity).toMatchObject({ rateLimited: 5, accesses: 0 });
  });

  test('the overview shows whether the webhook is online, and since when events wait for it', async () => {
    await service.bind();
    await expect
      .poll(async () => (await overview()).webhook)
      .toEqual({
        bound: true,
        url: service.webhook.url,
        online: true,
        lastSeenAt: '2026-11-20T12:00:00.000Z',
        logBehindSince: null,
      });
    await service.runJob('audit shipping');
    await expect.poll(() => service.webhook.events.length).toBeGreaterThan(2);
    await service.webhook.shut();
    await service.agent();
    await service.admin('GET', '/api/webhook');
    expect((await overview()).webhook).toMatchObject({ online: false, logBehindSince: null });
    service.clock.advance(60_001);
    expect((await overview()).webhook).toMatchObject({ logBehindSince: '2026-11-20T12:00:00.000Z' });
    await service.webhook.open();
  });
});

describe('the set-up guide', () => {
  const STEPS = ['bind-webhook', 'store-credential', 'create-agent', 'grant-access', 'first-access'];
  const states = async (call = service.admin) => {
    const { json } = await call('GET', '/api/setup');
    expect(json.steps.map(({ step }: { step: string }) => step)).toEqual(STEPS);
    return json.steps.map(({ state }: { state: string }) => state) as string[];
  };

  test('the guide marks each step done once it was done', async () => {
    expect(await states()).toEqual(['open', 'open', 'open', 'open', 'open']);
    await service.bind();
    expect(await states()).toEqual(['done', 'open', 'open', 'open', 'open']);
    await post('/api/tokens', { serviceName: 'github', tokenType: 'JWT' });
    expect(await states()).toEqual(['done', 'done', 'open', 'open', 'open']);
    const agent = await service.agent();
    await agent.get('github');
    expect(await states()).toEqual(['done', 'done', 'done', 'open', 'open']);
    await post(`/api/agents/${agent.id}/grants`, { allowMissing: true, serviceName: 'github' });
    expect(await states()).toEqual(['done', 'done', 'done', 'done', 'open']);
    await agent.get('github');
    expect(await states()).toEqual(['done', 'done', 'done', 'done', 'done']);
    expect((await service.admin('GET', '/api/setup')).json.complete).toBe(true);
    await addEvents(service, 2_001);
    expect((await states())[4]).toBe('done');
  });

  test('the guide shows the marked state of a step until it sees the step done', async () => {
    const marked = await post('/api/setup/steps/store-credential');
    expect([marked.status, marked.json.steps[1]]).toEqual([200, { step: 'store-credential', state: 'done' }]);
    await post('/api/setup/steps/grant-access', { state: 'dismissed' });
    expect(await states()).toEqual(['open', 'done', 'open', 'dismissed', 'open']);
    await post('/api/setup/steps/store-credential', { state: 'open' });
    expect(await states()).toEqual(['open', 'open', 'open', 'dismissed', 'open']);
    await service.agent('github');
    expect(await states()).toEqual(['open', 'open', 'done', 'done', 'open']);
    for (const step of STEPS) await post(`/api/setup/steps/${step}`, { state: 'dismissed' });
    const { json } = await service.admin('GET', '/api/setup');
    expect(json.complete).toBe(true);
  });

  test('members read the guide and mark its known steps, unless the vault is locked', async () => {
    const { session } = await addMember(service, 'member');
    expect((await session('GET', '/api/overview')).status).toBe(200);
    expect((await session('POST', '/api/setup/steps/bind-webhook')).status).toBe(200);
    expect((await states())[0]).toBe('done');
    expect((await states(session))[0]).toBe('done');
    for (const step of ['unknown', 'Bind-Webhook', 'bind-webhook%2F']) {
      const answer = await post(`/api/setup/steps/${step}`);
      expect([step, answer.status, answer.json.code]).toEqual([step, 404, 'NOT_FOUND']);
    }
    for (const body of [{ state: 'finished' }, { done: true }, { state: null }]) {
      const { status } = await post('/api/setup/steps/bind-webhook', body);
      expect([body, status]).toEqual([body, 422]);
    }
    await post('/api/vault/lock');
    expect((await post('/api/setup/steps/bind-webhook')).status).toBe(423);
    expect((await service.admin('GET', '/api/setup')).status).toBe(200);
  });
});
