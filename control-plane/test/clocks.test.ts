import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeOwnerLink } from './support/beside-the-service.ts';
import { signInBy } from './support/management-service.ts';
import { agentOn, grant, storeOn } from './support/pair-agents.ts';
import { serviceInTest } from './support/use-service.ts';

/*
 * R5 at the service: what is over stays over, and a clock that is set back lets nothing live again where somebody
 * could make use of it.
 *
 * A grant that a request has met after its time is deleted, a session and an owner link that came too late are
 * forgotten. A lapsed grant that nobody asked for in between would be a grant again after the clock was set back; then
 * the service issues tickets of the past, and the webhook, which knows what time has certainly passed, takes none.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('grants', () => {
  let pair: TestPair;
  beforeAll(async () => {
    pair = await startPair();
    await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'v' });
  });
  afterAll(() => pair.close());

  // spec: Grant | active | expiry time passes | grantExpiresAt is reached | expired | Expired grants are omitted from list mode.
  test.each([
    ['an hour', HOUR],
    ['30 days', 30 * DAY],
  ])(
    'one for %s holds to the millisecond before its end and not from its end on',
    async (_what, lengthMs) => {
      const agent = await agentOn(pair);
      await grant(pair, agent.id, { serviceName: 'github', expiresInSeconds: lengthMs / SECOND });
      pair.clock.advance(lengthMs - 1);
      expect((await agent.fetch('github')).status).toBe(200);
      pair.clock.advance(1);
      expect((await agent.list()).json.grants).toEqual([]);
      expect((await agent.ask('github')).json.code).toBe('GRANT_EXPIRED');
    },
  );

  // spec: Grant | expired | next credential request for that service | none | deleted | The request answers 403 GRANT_EXPIRED.
  test.each([-30 * SECOND, -HOUR])('met after its end and the clock set by %i ms: gone', async (jumpMs) => {
    const agent = await agentOn(pair);
    await grant(pair, agent.id, { serviceName: 'github', expiresInSeconds: 3_600 });
    pair.clock.advance(HOUR);
    expect((await agent.ask('github')).json.code).toBe('GRANT_EXPIRED');
    pair.clock.jump(jumpMs);
    expect((await agent.ask('github')).json.code).toBe('NO_GRANT');
    expect((await agent.list()).json.grants).toEqual([]);
    pair.clock.jump(-jumpMs);
  });

  test.each([-5 * MINUTE, -DAY])(
    'not met before the clock is set by %i ms: the webhook delivers nothing',
    async (jumpMs) => {
      const agent = await agentOn(pair);
      await grant(pair, agent.id, { serviceName: 'github', expiresInSeconds: 3_600 });
      pair.clock.advance(HOUR);
      pair.clock.jump(jumpMs);
      const { status } = await agent.fetch('github');
      expect(status).not.toBe(200);
      pair.clock.jump(-jumpMs);
      // The clock is right again, and so is the answer.
      expect((await agent.ask('github')).json.code).toBeOneOf(['GRANT_EXPIRED', 'NO_GRANT']);
      expect((await (await agentOn(pair, 'github')).fetch('github')).status).toBe(200);
    },
  );

  test.each([-HOUR, HOUR])('the log stays whole when the clock is set by %i ms', async (jumpMs) => {
    const agent = await agentOn(pair, 'github');
    await agent.ask('github');
    pair.clock.jump(jumpMs);
    await agent.ask('github');
    pair.clock.jump(-jumpMs);
    expect(await pair.admin.call('GET', '/api/audit/verify')).toMatchObject({ intact: true });
  });
});

test('an owner link and a session that came too late stay used up when the clock is set back', async () => {
  const service = await serviceInTest();
  const { clock, admin, anyone } = service;
  const token = new URL(await makeOwnerLink(service)).searchParams.get('token');
  const signIn = () => anyone('POST', '/api/login/link', { body: { token } });
  clock.advance(30 * MINUTE);
  expect((await signIn()).status).toBe(401);
  clock.jump(-29 * MINUTE);
  const again = await signIn();
  expect([again.status, again.headers.get('set-cookie')]).toEqual([401, null]);

  for (const ageMs of [8 * HOUR, 7 * DAY]) {
    const session = await signInBy(service, await makeOwnerLink(service));
    expect((await session('GET', '/api/me')).status).toBe(200);
    clock.advance(ageMs);
    expect((await session('GET', '/api/me')).status).toBe(401);
    clock.jump(-ageMs + MINUTE);
    expect((await session('GET', '/api/me')).status).toBe(401);
    expect((await admin('GET', '/api/sessions')).json.items).toEqual([]);
  }
});
