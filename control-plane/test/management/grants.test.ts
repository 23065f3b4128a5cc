import { beforeEach, describe, expect, test } from 'vitest';
import { formatTime } from '@svault/shared';
import { uniqueName } from '../support/unique-name.ts';
import { useService } from '../support/use-service.ts';

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;

const service = useService();
let agentId: string;
let agentName: string;
beforeEach(async () => {
  agentName = uniqueName('builder');
  agentId = (await service.admin('POST', '/api/agents', { body: { name: agentName } })).json.agent.id;
});

/** Of a name that is no credential here, unless the body says otherwise. */
const grant = (body: object) =>
  service.admin('POST', `/api/agents/${agentId}/grants`, { body: { allowMissing: true, ...body } });
const inSeconds = (seconds: number) => formatTime(service.clock.now() + seconds * 1_000);

describe('specification, states: Grant', () => {
  // spec: Grant | (none) | grant created | a vault token is selected | active | No check that the webhook holds the credential.
  test('(none) → grant created → active, without a look at the webhook', async () => {
    const answer = await grant({ serviceName: 'github' });
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({
      agentId,
      serviceName: 'github',
      status: 'active',
      grantExpiresAt: null,
      refreshPolicy: 'none',
      sourceGroupId: null,
    });
  });

  test('active → the expiry time passes → expired, at that very millisecond', async () => {
    await grant({ serviceName: 'github', expiresInSeconds: HOUR_S });
    const statusNow = async () =>
      (await service.admin('GET', `/api/agents/${agentId}/grants`)).json.items[0].status as string;
    service.clock.advance(HOUR_S * 1_000 - 1);
    expect(await statusNow()).toBe('active');
    service.clock.advance(1);
    expect(await statusNow()).toBe('expired');
  });

  test('active → revoke → removed', async () => {
    await grant({ serviceName: 'github' });
    const path = `/api/agents/${agentId}/grants/github`;
    expect((await service.admin('DELETE', path)).status).toBe(204);
    expect((await service.admin('GET', `/api/agents/${agentId}/grants`)).json.items).toEqual([]);
    expect((await service.admin('DELETE', path)).status).toBe(404);
  });

  test('deleting the agent removes its grants', async () => {
    await grant({ serviceName: 'github' });
    await service.admin('DELETE', `/api/agents/${agentId}`);
    expect((await service.admin('GET', `/api/agents/${agentId}/grants`)).json.items).toEqual([]);
    expect((await grant({ serviceName: 'github' })).status).toBe(409);
  });
});

describe('specification, limits: 1 hour to 30 days, or until revoked', () => {
  // spec: Grant duration: 1 hour to 30 days,
  test.each([HOUR_S, DAY_S, 30 * DAY_S])('a grant expires after expiresInSeconds %i', async (seconds) => {
    const answer = await grant({ serviceName: 'github', expiresInSeconds: seconds });
    expect([answer.status, answer.json.grantExpiresAt]).toEqual([201, inSeconds(seconds)]);
  });

  // spec: or until revoked.
  test.each([
    [{ grantExpiresAt: '2026-11-21T12:00:00.000Z' }, '2026-11-21T12:00:00.000Z'],
    [{ grantExpiresAt: null }, null],
  ])('a grant with %j expires at %s', async (expiry, expiresAt) => {
    const answer = await grant({ serviceName: 'github', ...expiry });
    expect([answer.status, answer.json.grantExpiresAt]).toEqual([201, expiresAt]);
  });

  test.each([
    ['expiresInSeconds', { expiresInSeconds: HOUR_S - 1 }],
    ['expiresInSeconds', { expiresInSeconds: 30 * DAY_S + 1 }],
    ['expiresInSeconds', { expiresInSeconds: 3_600.5 }],
    ['expiresInSeconds', { expiresInSeconds: '3600' }],
    ['grantExpiresAt', { grantExpiresAt: '2026-11-20T12:30:00Z' }],
    ['grantExpiresAt', { grantExpiresAt: '2027-11-20T12:30:00Z' }],
    ['grantExpiresAt', { grantExpiresAt: 'tomorrow' }],
    ['grantExpiresAt', { grantExpiresAt: '2026-11-22T12:00:00Z', expiresInSeconds: DAY_S }],
  ])('an invalid %s is rejected', async (path, expiry) => {
    const answer = await grant({ serviceName: 'github', ...expiry });
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({ code: 'INVALID_ARGUMENT', issues: [{ path }] });
  });
});

describe('POST /api/agents/{id}/grants/{serviceName}/renew', () => {
  const renew = (body: object, serviceName = 'github') =>
    service.admin('POST', `/api/agents/${agentId}/grants/${serviceName}/renew`, { body });

  test('sets another expiry, from now on, and keeps the rest of the grant', async () => {
    const made = (await grant({ serviceName: 'github', expiresInSeconds: HOUR_S, refreshPolicy: 'auto' }))
      .json;
    service.clock.advance(1_000);
    const renewed = await renew({ expiresInSeconds: DAY_S });
    expect([renewed.status, renewed.json]).toEqual([200, { ...made, grantExpiresAt: inSeconds(DAY_S) }]);
    const forGood = await renew({ grantExpiresAt: null, refreshPolicy: 'none' });
    expect(forGood.json).toEqual({ ...made, grantExpiresAt: null, refreshPolicy: 'none' });
    expect((await service.admin('GET', `/api/agents/${agentId}/grants`)).json.items).toEqual([forGood.json]);
  });

  test('makes an expired grant active again', async () => {
    const { id } = (await grant({ serviceName: 'github', expiresInSeconds: HOUR_S })).json;
    service.clock.advance(HOUR_S * 1_000);
    expect((await renew({ expiresInSeconds: HOUR_S })).json).toMatchObject({ id, status: 'active' });
  });

  test('changes nothing where no expiry is named, or one that is out of bounds', async () => {
    await grant({ serviceName: 'github', expiresInSeconds: HOUR_S });
    const before = (await service.admin('GET', `/api/agents/${agentId}/grants`)).json;
    for (const body of [{}, { refreshPolicy: 'auto' }, { expiresInSeconds: 60 }, { serviceName: 'npm' }])
      expect([body, (await renew(body)).status]).toEqual([body, 422]);
    expect((await service.admin('GET', `/api/agents/${agentId}/grants`)).json).toEqual(before);
  });

  test('makes no grant: 404 where there is none, 409 where the agent is deleted', async () => {
    expect((await renew({ expiresInSeconds: HOUR_S })).status).toBe(404);
    await grant({ serviceName: 'github' });
    await service.admin('DELETE', `/api/agents/${agentId}`);
    expect((await renew({ expiresInSeconds: HOUR_S })).status).toBe(409);
  });
});

describe('one grant per agent and service', () => {
  test('a second one is a conflict while the first is live, and takes its place once it has expired', async () => {
    const first = await grant({ serviceName: 'github', expiresInSeconds: HOUR_S });
    expect((await grant({ serviceName: 'github' })).json.code).toBe('CONFLICT');
    service.clock.advance(HOUR_S * 1_000);
    const second = await grant({ serviceName: 'github', refreshPolicy: 'auto' });
    expect(second.status).toBe(201);
    expect(second.json.id).not.toBe(first.json.id);
    expect((await service.admin('GET', `/api/agents/${agentId}/grants`)).json.items).toEqual([second.json]);
  });

  test('names itself and the command that renews it', async () => {
    await grant({ serviceName: 'github' });
    expect((await grant({ serviceName: 'github' })).json.error).toBe(
      `Agent \`${agentName}\` has a grant for \`github\` already. To change when it ends, run \`svault grant '${agentName}' github --renew --expires 1h\`.`,
    );
  });

  test('of twenty at once one is made', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => grant({ serviceName: 'github' })));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  });

  test('names with spaces and other scripts go through the path', async () => {
    const serviceName = 'Größe 表 %2F?#';
    expect((await grant({ serviceName })).status).toBe(201);
    const path = `/api/agents/${agentId}/grants/${encodeURIComponent(serviceName)}`;
    expect((await service.admin('DELETE', path)).status).toBe(204);
  });

  test.each(['a/b', '', '.', '..', ' x', 'a\u0000', 'x'.repeat(129), 'x'.repeat(10_240)])(
    'the service name %j is rejected',
    async (serviceName) => {
      const answer = await grant({ serviceName });
      expect([answer.status, answer.json.issues[0].path]).toEqual([422, 'serviceName']);
    },
  );
});
