import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ManagementService, signInBy, startService } from './support/management-service.ts';
import { agentOn, grant, storeOn, take } from './support/pair-agents.ts';

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
  test.each([-30 * SECOND, -5 * MINUTE, -HOUR])(
    'met after its end and the clock set by %i ms: gone',
    async (jumpMs) => {
      const agent = await agentOn(pair);
      await grant(pair, agent.id, { serviceName: 'github', expiresInSeconds: 3_600 });
      pair.clock.advance(HOUR);
      expect((await agent.ask('github')).json.code).toBe('GRANT_EXPIRED');
      pair.clock.jump(jumpMs);
      expect((await agent.ask('github')).json.code).toBe('NO_GRANT');
      expect((await agent.list()).json.grants).toEqual([]);
      pair.clock.jump(-jumpMs);
    },
  );

  test.each([-5 * MINUTE, -30 * MINUTE, -HOUR, -DAY])(
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

  test('a ticket holds for 60 s and the 30 s of skew, whichever clock is asked', async () => {
    const agent = await agentOn(pair, 'github');
    const locations = await Promise.all(
      [0, 1, 2].map(async () => (await agent.ask('github')).headers.get('location') ?? ''),
    );
    pair.clock.advance(91 * SECOND);
    expect((await take(pair, locations[0] ?? '')).status).toBe(401);
    pair.clock.jump(-91 * SECOND);
    expect((await take(pair, locations[1] ?? '')).status).toBe(401);
    pair.clock.jump(91 * SECOND);
    expect((await take(pair, locations[2] ?? '')).status).toBe(401);
  });

  test.each([-HOUR, -30 * SECOND, 30 * SECOND, HOUR])(
    'the log stays whole when the clock is set by %i ms',
    async (jumpMs) => {
      const agent = await agentOn(pair, 'github');
      await agent.ask('github');
      pair.clock.jump(jumpMs);
      await agent.ask('github');
      pair.clock.jump(-jumpMs);
      expect(await pair.admin.call('GET', '/api/audit/verify')).toMatchObject({ intact: true });
    },
  );

  test.each([
    ['ends too soon', HOUR - 2 * MINUTE],
    ['ends too late', 30 * DAY + 2 * MINUTE],
    ['is over', -HOUR],
  ])('one that %s is not made, whatever form its end has', async (_what, fromNowMs) => {
    const { id } = await agentOn(pair);
    const grantExpiresAt = new Date(pair.clock.now() + fromNowMs).toISOString();
    for (const end of [grantExpiresAt, grantExpiresAt.replace('Z', '000000Z')])
      await expect(grant(pair, id, { serviceName: 'x', grantExpiresAt: end })).rejects.toMatchObject({
        status: 422,
      });
    const expiresInSeconds = Math.floor(fromNowMs / SECOND);
    await expect(grant(pair, id, { serviceName: 'x', expiresInSeconds })).rejects.toMatchObject({
      status: 422,
    });
  });
});

describe('sign-in', () => {
  const withService = async (work: (service: ManagementService, token: string | null) => Promise<void>) => {
    const service = await startService();
    try {
      await work(service, new URL(service.running.ownerLink ?? '').searchParams.get('token'));
    } finally {
      await service.stop();
    }
  };
  const FORM = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://127.0.0.1:8080' };

  test.each(['the API', 'the page'])(
    'an owner link that came too late at %s stays used up when the clock is set back',
    (door) =>
      withService(async (service, token) => {
        const signIn = () =>
          door === 'the API'
            ? service.anyone('POST', '/api/login/link', { body: { token } })
            : service.anyone('POST', '/login/link', { rawBody: `token=${token}`, headers: FORM });
        service.clock.advance(30 * MINUTE);
        expect((await signIn()).status).toBe(401);
        service.clock.jump(-29 * MINUTE);
        const again = await signIn();
        expect([again.status, again.headers.get('set-cookie')]).toEqual([401, null]);
      }),
  );

  test.each([
    ['idle for 8 hours', 8 * HOUR],
    ['7 days old', 7 * DAY],
  ])('a session %s stays ended when the clock is set back', (_what, ageMs) =>
    withService(async (service) => {
      const session = await signInBy(service, service.running.ownerLink ?? '');
      expect((await session('GET', '/api/me')).status).toBe(200);
      service.clock.advance(ageMs);
      expect((await session('GET', '/api/me')).status).toBe(401);
      service.clock.jump(-ageMs + MINUTE);
      expect((await session('GET', '/api/me')).status).toBe(401);
      expect((await service.admin('GET', '/api/sessions')).json.items).toEqual([]);
    }),
  );
});
