/** R5: clocks that differ, and clocks that are set while the webhook runs. What is over stays over. */
import { afterEach, describe, expect, test } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import type { HmacKey } from '@svault/shared';
import { webhookConfig } from '../src/config/config.ts';
import { openContext } from '../src/context.ts';
import { type BoundWebhook, boundWebhook } from './bound-webhook.ts';
import { playClockSchedules, signedAt, times } from './clock-schedules.ts';
import { type DoorFixture, keyOf, makeLink, startDoor } from './door-fixture.ts';

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
async function unbound(): Promise<DoorFixture> {
  const door = await startDoor();
  cleanUps.push(() => door.stop());
  return door;
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
    const door = await unbound();
    const { code } = await door.connect();
    expect((await door.exchange(code, { nowMs: door.clock.now() + shiftMs })).status).toBe(status);
    if (status === 401) expect((await door.exchange(code)).status).toBe(200);
  });
});

describe('a clock that is set while the webhook runs', () => {
  // Many more of them: clocks.hard.test.ts.
  test('lets nothing live twice and nothing expired live again, on any schedule', () =>
    playClockSchedules(6));
});

describe('a binding code', () => {
  test.each([
    ['of the bind page', (door: DoorFixture) => door.connect().then(({ code }) => code)],
    ['of bind-link', codeByCommand],
  ])('%s ends after 5 minutes, wherever the clock is set meanwhile', async (_what, mint) => {
    const door = await unbound();
    const code = await mint(door);
    // The service's clock is set back with the webhook's, so that its signature holds.
    expect((await door.exchange(code, { service: { baseUrl: 'https://another.test' } })).status).toBe(400);
    door.clock.advance(2 * MINUTE);
    door.clock.jump(-HOUR);
    door.clock.advance(3 * MINUTE);
    expect((await door.exchange(code)).json.code).toBe('CODE_EXPIRED');
    door.clock.jump(-HOUR);
    expect((await door.exchange(code)).json.code).toBe('CODE_EXPIRED');
    await door.restart();
    expect((await door.exchange(code)).json.code).toBe('CODE_EXPIRED');
  });

  test('stays used when the clock is set back', async () => {
    const door = await unbound();
    const { code } = await door.connect();
    expect((await door.exchange(code)).status).toBe(200);
    for (const shiftMs of [-4 * MINUTE, -HOUR]) {
      door.clock.jump(shiftMs);
      expect((await door.exchange(code)).json.code).toBe('CODE_USED');
    }
  });

  test('is guessed 30 times a minute at most, wherever the clock is set', async () => {
    const door = await unbound();
    const { code } = await door.connect();
    const guess = async () => (await door.exchange(crypto.randomUUID())).status;
    for (let tries = 0; tries < 30; tries += 1) expect(await guess()).toBe(401);
    for (const shiftMs of [HOUR, -2 * HOUR, HOUR]) {
      door.clock.jump(shiftMs);
      expect(await guess()).toBe(429);
    }
    expect((await door.exchange(code)).status).toBe(200);
  });
});

/** As `bind-link` does in a process of its own. */
async function codeByCommand(door: DoorFixture): Promise<string> {
  const context = await openContext(webhookConfig(door.env), { clock: door.clock, logger: silentLogger });
  const { link } = await makeLink(context);
  context.close();
  return new URL(link).searchParams.get('code') ?? '';
}

test('a former key stays dead when the clock is set back', async () => {
  const door = await unbound();
  const { key: former } = await door.bind();
  const rotated = await door.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key: former });
  const current: HmacKey = keyOf(rotated.json);
  const status = async (key: HmacKey) => (await door.sendSigned({ key })).status;
  expect([await status(current), await status(former)]).toEqual([200, 200]);
  door.clock.advance(10 * MINUTE);
  expect([await status(current), await status(former)]).toEqual([200, 401]);
  for (const shiftMs of [-9 * MINUTE, -HOUR]) {
    door.clock.jump(shiftMs);
    expect(await status(former)).toBe(401);
    await door.restart();
    expect(await status(former)).toBe(401);
  }
});
