import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { browserOn } from '../support/browser.ts';
import {
  OWNER,
  type TestProvider,
  beginAt,
  pathOf,
  settingsFor,
  startProvider,
} from '../support/identity-provider.ts';
import { type ManagementService, startService } from '../support/management-service.ts';
import { addMember, addMemberWithPassword, signInWithPassword } from '../support/members.ts';
import { timingDifference } from '../support/timing-difference.ts';

/** Where a difference counts as measured (Welch's t). */
const MEASURED = 4.5;
const PASSWORD = 'correct horse battery staple';

describe('the time of an answer', () => {
  const SAMPLES = 600;
  /** Each takes as long as a hash does. */
  const WARM_UP = 60;
  let service: ManagementService;
  beforeAll(async () => {
    service = await startService({ SV_LIMIT_PASSWORD_LOGIN: '1000000' });
  });
  afterAll(() => service.stop());

  test('the time of a wrong sign-in does not show whether the address or a password exists', async () => {
    const people = await Promise.all(
      Array.from({ length: 10 }, () => addMemberWithPassword(service, 'member', PASSWORD)),
    );
    const without = await Promise.all(Array.from({ length: 10 }, () => addMember(service, 'member')));
    const guess = (email: string) => signInWithPassword(service, email, 'another horse, another staple');
    const known = people.map(({ email }) => email);
    const unknown = known.map((email) => `nobody-${email}`);
    expect(await timingDifference(SAMPLES, guess, [known, unknown], WARM_UP)).toBeLessThan(MEASURED);
    const linked = without.map(({ email }) => email);
    expect(await timingDifference(SAMPLES, guess, [known, linked], WARM_UP)).toBeLessThan(MEASURED);
  });
});

describe('a provider that never finishes its response', () => {
  let provider: TestProvider;
  let service: ManagementService;
  const held: ServerResponse[] = [];
  beforeAll(async () => {
    provider = await startProvider();
    provider.people.set('owner-sub', OWNER);
    provider.signsIn = 'owner-sub';
    service = await startService(settingsFor(provider));
  });
  afterEach(() => {
    provider.interfere = undefined;
    for (const res of held.splice(0)) res.destroy();
  });
  afterAll(async () => {
    await service.stop();
    await provider.stop();
  });

  /** Sends nothing, or a blank now and then. */
  const stall = (path: RegExp, drips: boolean): void => {
    provider.interfere = ({ url }, res) => {
      if (!path.test(url ?? '')) return false;
      held.push(res);
      if (!drips) return true;
      res.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => res.write(' '), 200);
      res.on('close', () => clearInterval(timer));
      return true;
    };
  };

  test.each([
    ['says nothing', false],
    ['drips', true],
  ])('a provider that %s fails every waiting sign-in, and delays no other request', async (_how, drips) => {
    const by = browserOn(service.running.url);
    stall(/^\/\.well-known/, drips);
    const waiting = Promise.all(Array.from({ length: 20 }, () => by.get('/api/login/oidc')));
    expect((await service.admin('GET', '/api/agents')).status).toBe(200);
    expect(new Set((await waiting).map(({ status }) => status))).toEqual(new Set([503]));

    provider.interfere = undefined;
    const path = pathOf(await provider.goThrough(await beginAt(by)));
    stall(/^\/token/, drips);
    expect((await by.get(path)).status).toBe(503);
    // The next round fetches the metadata again.
    service.clock.advance(60 * 60_000);
  });
});
