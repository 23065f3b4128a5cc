import { parseRegistrationLink } from '@svault/compose/binding';
import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { expect } from 'vitest';
import { expectRefusal } from './answers.ts';
import { startFixture, times, test } from './fixture.ts';
import { spec } from '@svault/test-kit/spec';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
const CODE_LIFETIME_MS = 5 * 60_000;

test(
  'a rate_limit rule is a ceiling on top of the floor, and its denial names the policy',
  spec(
    'An ABAC rate_limit rule adds its own ceiling on top of all of the above. Its denial is 429 and names the policy.',
  ),
  async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2, 'github');
    const rule = { type: 'rate_limit', limit: 3, windowSeconds: 20 };
    const name = await fixture.policy(rule, { targetType: 'agent', targetId: agent!.id }, 'at most three');
    for (const { status } of await times(3, () => agent!.ask('github'))) expect(status).toBe(307);
    const refused = await agent!.ask('github');
    expectRefusal(refused, '429 POLICY_DENIED');
    expect(refused.json).toMatchObject({ policy: name, rule: 'rate_limit', retryAfter: 20 });
    expect((await other!.ask('github')).status).toBe(307);
    fixture.wait(20_000);
    expect((await agent!.ask('github')).status).toBe(307);
    // On top of the others: what the rule refuses has been counted against the floor, which is the one to strike.
    await times(55, () => agent!.ask('github'));
    expectRefusal(await agent!.ask('github'), '429 RATE_LIMITED');
  },
);

test(
  'a grant lasts 1 hour to 30 days, or until it is revoked',
  spec('Grant duration: 1 hour to 30 days, or until revoked.'),
  async ({ fixture }) => {
    const agent = await fixture.agent();
    const ask = async (body: object): Promise<number> =>
      (await fixture.admin('POST', `/api/agents/${agent.id}/grants`, { body })).status;
    const from = fixture.pair.clock.now();
    const until = (seconds: number): object => ({
      grantExpiresAt: new Date(from + seconds * 1_000).toISOString(),
    });
    for (const seconds of [HOUR_SECONDS - 1, 30 * DAY_SECONDS + 1, 0, -1])
      expect(await ask({ serviceName: 's', expiresInSeconds: seconds })).toBe(422);
    // Who names an instant computed it before the request travelled: a minute is let pass.
    for (const seconds of [HOUR_SECONDS - 61, 30 * DAY_SECONDS + 61, 0, -1])
      expect(await ask({ serviceName: 's', ...until(seconds) })).toBe(422);
    for (const [n, seconds] of [HOUR_SECONDS, 30 * DAY_SECONDS].entries()) {
      expect(await ask({ serviceName: `for ${n}`, expiresInSeconds: seconds })).toBe(201);
      expect(await ask({ serviceName: `until ${n}`, ...until(seconds) })).toBe(201);
    }
    expect(await ask({ serviceName: 'until revoked' })).toBe(201);
    fixture.wait(30 * DAY_SECONDS * 1_000);
    expect((await agent.list()).json.grants).toMatchObject([
      { serviceName: 'until revoked', grantExpiresAt: null },
    ]);
  },
);

test(
  'a bind code is valid for 5 minutes',
  spec('The webhook bind code is valid for 5 minutes.'),
  async () => {
    const fixture = await startFixture({ bound: false });
    try {
      const { clock, bypassingRecorder, webhookUrl, setupToken } = fixture.pair;
      const offer = async () =>
        parseRegistrationLink(await registrationLinkByPage(bypassingRecorder(webhookUrl), setupToken));
      const bindAfter = async (ms: number) => {
        const body = await offer();
        clock.advance(ms);
        return fixture.admin('POST', '/api/webhook/bind', { body });
      };
      expect((await bindAfter(CODE_LIFETIME_MS + 1_000)).json).toMatchObject({ webhookCode: 'CODE_EXPIRED' });
      expect((await bindAfter(CODE_LIFETIME_MS - 1_000)).status).toBe(201);
    } finally {
      await fixture.close();
    }
  },
);
