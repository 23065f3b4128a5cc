/** R5: clocks that differ, and clocks that are set while the webhook runs. What is over stays over. */
import { afterEach, describe, expect, test } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import type { HmacKey } from '@svault/shared';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { runClockSchedules, signedAt, times } from '../support/clock-schedules.ts';
import { type WebhookFixture, keyOf, makeLink, startFixture } from '../support/webhook-fixture.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
async function bound(): Promise<BoundWebhook> {
  const webhook = await boundWebhook();
  cleanUps.push(() => webhook.remove());
  return webhook;
}
async function unbound(): Promise<WebhookFixture> {
  const fixture = await startFixture();
  cleanUps.push(() => fixture.stop());
  return fixture;
}

describe("the service's clock", () => {
  const PLAIN = { tokenType: 'PlainText', value: 'v' };
  test.each([
    ['the same', 0, 200],
    ['30 s ahead', 30 * SECOND, 200],
    ['30 s behind', -30 * SECOND, 200],
    ['31 s ahead', 31 * SECOND, 401],
    ['5 minutes ahead', 5 * MINUTE, 401],
    ['5 minutes behind', -5 * MINUTE, 401],
    ['an hour ahead', HOUR, 401],
    ['an hour behind', -HOUR, 401],
  ])('%s', async (_what, shiftMs, status) => {
    const webhook = await bound();
    await webhook.store('doc', PLAIN);
    const nowMs = webhook.clock.now() + shiftMs;
    expect((await webhook.send('/v1/health', signedAt(webhook, nowMs))).status).toBe(status);
    expect((await webhook.credential('doc', times(nowMs, 60))).status).toBe(status);
    // A ticket for the store lives 5 minutes, so one from a clock that far behind has only just ended.
    const lifetime = shiftMs < -MINUTE ? 60 : 300;
    expect((await webhook.store('doc', PLAIN, times(nowMs, lifetime))).status).toBe(status);
  });

  test.each([
    [30 * SECOND, 200],
    [-30 * SECOND, 200],
    [5 * MINUTE, 401],
    [-5 * MINUTE, 401],
    [HOUR, 401],
    [-HOUR, 401],
  ])('shifted by %i ms at the exchange', async (shiftMs, status) => {
    const fixture = await unbound();
    const { code } = await fixture.connect();
    expect((await fixture.exchange(code, { nowMs: fixture.clock.now() + shiftMs })).status).toBe(status);
    if (status === 401) expect((await fixture.exchange(code)).status).toBe(200);
  });
});

describe('a clock that is set while the webhook runs', () => {
  // Many more of them: clocks.hard.test.ts.
  test('lets nothing live twice and nothing expired live again, on any schedule', () => runClockSchedules(6));
});

describe('a binding code', () => {
  test.each([
    ['of the bind page', (fixture: WebhookFixture) => fixture.connect().then(({ code }) => code)],
    ['of bind-link', codeByCommand],
  ])('%s ends after 5 minutes, wherever the clock is set meanwhile', async (_what, mint) => {
    const fixture = await unbound();
    const code = await mint(fixture);
    // The service's clock is set back with the webhook's, so that its signature holds.
    expect((await fixture.exchange(code, { service: { baseUrl: 'https://another.test' } })).status).toBe(400);
    fixture.clock.advance(2 * MINUTE);
    fixture.clock.jump(-HOUR);
    fixture.clock.advance(3 * MINUTE);
    expect((await fixture.exchange(code)).json.code).toBe('CODE_EXPIRED');
    fixture.clock.jump(-HOUR);
    expect((await fixture.exchange(code)).json.code).toBe('CODE_EXPIRED');
    await fixture.restart();
    expect((await fixture.exchange(code)).json.code).toBe('CODE_EXPIRED');
  });

  test('stays used when the clock is set back', async () => {
    const fixture = await unbound();
    const { code } = await fixture.connect();
    expect((await fixture.exchange(code)).status).toBe(200);
    for (const shiftMs of [-4 * MINUTE, -HOUR]) {
      fixture.clock.jump(shiftMs);
      expect((await fixture.exchange(code)).json.code).toBe('CODE_USED');
    }
  });

  test('is guessed 30 times a minute at most, wherever the clock is set', async () => {
    const fixture = await unbound();
    const { code } = await fixture.connect();
    const guess = async () => (await fixture.exchange(crypto.randomUUID())).status;
    for (let tries = 0; tries < 30; tries += 1) expect(await guess()).toBe(401);
    for (const shiftMs of [HOUR, -2 * HOUR, HOUR]) {
      fixture.clock.jump(shiftMs);
      expect(await guess()).toBe(429);
    }
    expect((await fixture.exchange(code)).status).toBe(200);
  });
});

/** As `bind-link` does in a process of its own. */
async function codeByCommand(fixture: WebhookFixture): Promise<string> {
  const context = await openContext(webhookConfig(fixture.env), {
    clock: fixture.clock,
    logger: silentLogger,
  });
  const { link } = await makeLink(context);
  context.close();
  return new URL(link).searchParams.get('code') ?? '';
}

test('a former key stays dead when the clock is set back', async () => {
  const fixture = await unbound();
  const { key: former } = await fixture.bind();
  const rotated = await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key: former });
  const current: HmacKey = keyOf(rotated.json);
  const status = async (key: HmacKey) => (await fixture.sendSigned({ key })).status;
  expect([await status(current), await status(former)]).toEqual([200, 200]);
  fixture.clock.advance(10 * MINUTE);
  expect([await status(current), await status(former)]).toEqual([200, 401]);
  for (const shiftMs of [-9 * MINUTE, -HOUR]) {
    fixture.clock.jump(shiftMs);
    expect(await status(former)).toBe(401);
    await fixture.restart();
    expect(await status(former)).toBe(401);
  }
});
