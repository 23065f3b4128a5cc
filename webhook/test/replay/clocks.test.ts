/** R5: clocks that differ, and clocks that are set while the webhook runs. What is over stays over. */
import { describe, expect, test } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { webhookOfTest } from '../support/bound-webhook.ts';
import { runClockSchedules, signedAt, times } from '../support/clock-schedules.ts';
import { type WebhookFixture, fixtureOfTest, makeLink } from '../support/webhook-fixture.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

describe("the control plane's clock", () => {
  test('may differ by 30 s in both directions, for requests and tickets, and no more', async () => {
    const webhook = await webhookOfTest();
    const body = { tokenType: 'PlainText', value: 'v' };
    await webhook.store('doc', body);
    for (const [shiftSeconds, status] of [
      [0, 200],
      [30, 200],
      [-90, 200],
      [31, 401],
      [-91, 401],
      [300, 401],
      [-3600, 401],
    ] as const) {
      const nowMs = webhook.clock.now() + shiftSeconds * SECOND;
      const answers = [
        await webhook.send('/v1/health', signedAt(webhook, nowMs)),
        await webhook.credential('doc', times(nowMs, 60)),
        await webhook.store('doc', body, times(nowMs, 60)),
      ];
      expect([shiftSeconds, ...answers.map((answer) => answer.status)]).toEqual([
        shiftSeconds,
        ...Array<number>(3).fill(status),
      ]);
    }
  });

  test('may differ by 30 s at the exchange, and no more', async () => {
    const fixture = await fixtureOfTest();
    const { code } = await fixture.connect();
    for (const shiftMs of [31 * SECOND, -91 * SECOND, HOUR, -HOUR])
      expect((await fixture.exchange(code, { nowMs: fixture.clock.now() + shiftMs })).status).toBe(401);
    expect((await fixture.exchange(code, { nowMs: fixture.clock.now() + 30 * SECOND })).status).toBe(200);
  });
});

describe('a clock that is set while the webhook runs', () => {
  // Many more of them: clocks.hard.test.ts.
  test('leads to nothing accepted twice, and nothing accepted after its expiry, on any schedule', () =>
    runClockSchedules(6));
});

describe('a binding code', () => {
  test.each([
    ['of the bind page', (fixture: WebhookFixture) => fixture.connect().then(({ code }) => code)],
    ['of bind-link', codeByCommand],
  ])('%s expires after 5 minutes, wherever the clock is set in the meantime', async (_what, mint) => {
    const fixture = await fixtureOfTest();
    const code = await mint(fixture);
    // Leaves the code open. The control plane's clock is set with the webhook's, so that its signature holds.
    const ask = () => fixture.exchange(code, { service: { baseUrl: 'https://another.test' } });
    expect((await ask()).status).toBe(400);
    fixture.clock.advance(2 * MINUTE);
    fixture.clock.jump(-HOUR);
    fixture.clock.advance(3 * MINUTE - 1);
    expect((await ask()).status).toBe(400);
    fixture.clock.advance(1);
    expect((await fixture.exchange(code)).json.code).toBe('CODE_EXPIRED');
    expect(fixture.query('SELECT secret FROM binding_code')).toEqual([{ secret: null }]);
    fixture.clock.jump(-HOUR);
    await fixture.restart();
    expect((await fixture.exchange(code)).json.code).toBe('CODE_EXPIRED');
  });

  test.each([
    ['used', 'CODE_USED'],
    ['late', 'CODE_EXPIRED'],
  ])('that is %s is reported as such for 10 minutes, and then as unknown', async (what, answer) => {
    const fixture = await fixtureOfTest();
    const { code } = await fixture.connect();
    if (what === 'used') expect((await fixture.exchange(code)).status).toBe(200);
    fixture.clock.advance(10 * MINUTE - 1);
    for (const shiftMs of [0, -4 * MINUTE, -HOUR]) {
      fixture.clock.jump(shiftMs);
      expect((await fixture.exchange(code)).json.code).toBe(answer);
    }
    fixture.clock.advance(1);
    expect((await fixture.exchange(code)).json.code).toBe('SIGNATURE_INVALID');
  });

  test('can be guessed 30 times a minute, wherever the clock is set, and the right one is accepted', async () => {
    const fixture = await fixtureOfTest();
    const { code } = await fixture.connect();
    const guess = () => fixture.exchange(crypto.randomUUID());
    for (let tries = 0; tries < 30; tries += 1) expect((await guess()).status).toBe(401);
    for (const shiftMs of [HOUR, -2 * HOUR, HOUR]) {
      fixture.clock.jump(shiftMs);
      const { status, json, headers } = await guess();
      expect([status, json.code, json.retryAfter, headers['retry-after']]).toEqual([
        429,
        'RATE_LIMITED',
        60,
        '60',
      ]);
    }
    expect((await fixture.exchange(code)).status).toBe(200);
    fixture.clock.advance(MINUTE);
    expect((await guess()).status).toBe(401);
  });
});

/** As `bind-link` does in a process of its own. */
async function codeByCommand(fixture: WebhookFixture): Promise<string> {
  const { env, clock } = fixture;
  const context = await openContext(webhookConfig(env), { clock, logger: silentLogger });
  const { link } = await makeLink(context);
  context.close();
  return new URL(link).searchParams.get('code') ?? '';
}
