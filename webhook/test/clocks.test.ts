/** R5: clocks that differ, and clocks that are set while the webhook runs. What is over stays over. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import { type HmacKey, authorityOf, signRequest } from '@svault/shared';
import { webhookConfig } from '../src/config/config.ts';
import { openContext } from '../src/context.ts';
import { type BoundWebhook, boundWebhook } from './bound-webhook.ts';
import { type DoorFixture, keyOf, startDoor } from './door-fixture.ts';

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

/** A signed `POST /v1/health` of a service whose clock shows this. */
function signedAt(webhook: BoundWebhook, nowMs: number): RequestInit {
  const authority = authorityOf(webhook.env['SV_WEBHOOK_URL'] ?? '');
  const headers = signRequest({ method: 'POST', authority, path: '/v1/health', key: webhook.key, nowMs });
  return { method: 'POST', headers };
}
const times = (nowMs: number, lifetimeSeconds: number) => {
  const iat = Math.floor(nowMs / 1000);
  return { iat, exp: iat + lifetimeSeconds };
};

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

/** Something signed by a service whose own clock is right. */
interface Signed {
  readonly madeAtMs: number;
  readonly maxAgeMs: number;
  use(): Promise<number>;
  wins: number;
}

/**
 * A confirmed reading of the wall clock is at most 30 s behind the service's, and what is accepted ended at most 30 s
 * before that (protocol sections 3 and 4); one second may be lost with a kill.
 */
const GRACE_MS = 61 * SECOND;

describe('a clock that is set while the webhook runs', () => {
  let accepted = 0;
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('advance' as const),
        ms: fc.integer({ min: 0, max: 120 * SECOND }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('jump' as const),
        ms: fc.integer({ min: -HOUR, max: 20 * MINUTE }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('set right' as const), ms: fc.constant(0) }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('sign' as const), ms: fc.constant(0) }) },
    { weight: 8, arbitrary: fc.record({ do: fc.constant('use' as const), ms: fc.nat(1000) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), ms: fc.constant(0) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cut the power' as const), ms: fc.constant(0) }) },
  );

  test('lets nothing live twice and nothing expired live again, on any schedule', async () => {
    accepted = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 40 }), async (steps) => {
        const webhook = await boundWebhook();
        try {
          await play(webhook, steps);
        } finally {
          await webhook.remove();
        }
      }),
      { numRuns: 25 },
    );
    expect(accepted).toBeGreaterThan(0);
  });

  async function play(
    webhook: BoundWebhook,
    steps: readonly { readonly do: string; readonly ms: number }[],
  ): Promise<void> {
    const { clock } = webhook;
    await webhook.store('doc', { tokenType: 'PlainText', value: 'v' });
    const startMs = clock.now() - clock.monotonic();
    const trueMs = (): number => startMs + clock.monotonic();
    const signed: Signed[] = [];
    let powerCuts = 0;
    // What has passed is written down with each message that is accepted, at a stop, and once a minute; that last by
    // a timer of the machine, which a manual clock does not move. So a power cut loses what passed since.
    let writtenAtMs = clock.monotonic();
    let lostMs = 0;

    const use = async (one: Signed): Promise<void> => {
      const status = await one.use();
      expect([200, 401]).toContain(status);
      if (status === 401) return;
      one.wins += 1;
      accepted += 1;
      writtenAtMs = clock.monotonic();
      expect(one.wins).toBe(1);
      expect(trueMs() - one.madeAtMs).toBeLessThanOrEqual(one.maxAgeMs + lostMs);
    };
    for (const { do: what, ms } of steps) {
      if (what === 'advance') clock.advance(ms);
      else if (what === 'jump') clock.jump(ms);
      else if (what === 'set right') clock.jump(trueMs() - clock.now());
      else if (what === 'sign') signed.push(...signAll(webhook, trueMs()));
      else if (what === 'use' && signed.length > 0) await use(signed[ms % signed.length]!);
      else if (what === 'restart') {
        await webhook.restart();
        writtenAtMs = clock.monotonic();
      } else if (what === 'cut the power') {
        powerCuts += 1;
        lostMs += clock.monotonic() - writtenAtMs;
        writtenAtMs = clock.monotonic();
        await webhook.restart({ SV_WEBHOOK_DATA_DIR: asAfterPowerCut(webhook, powerCuts) });
      }
    }
    // However it went, in the end everything is tried again under every clock.
    for (const shiftMs of [0, -MINUTE, -10 * MINUTE, -HOUR]) {
      clock.jump(trueMs() + shiftMs - clock.now());
      for (const one of signed) await use(one);
    }
  }

  function signAll(webhook: BoundWebhook, madeAtMs: number): Signed[] {
    const ticket = webhook.credentialTicket('doc', times(madeAtMs, 60));
    const request = signedAt(webhook, madeAtMs);
    const shared = { madeAtMs, maxAgeMs: 60 * SECOND + GRACE_MS };
    return [
      { ...shared, wins: 0, use: async () => (await webhook.send(`/v1/credential?ticket=${ticket}`)).status },
      { ...shared, wins: 0, use: async () => (await webhook.send('/v1/health', request)).status },
    ];
  }
});

/** A folder with what the disk holds at this moment, had the power been cut (R3). */
function asAfterPowerCut(webhook: BoundWebhook, count: number): string {
  const from = webhook.env['SV_WEBHOOK_DATA_DIR'] ?? '';
  const to = `${webhook.dataDir}-${count}`;
  mkdirSync(to, { mode: 0o700 });
  // A reader keeps a checkpoint from cutting the WAL between the two copies; the database file is copied first, as
  // whatever a checkpoint has moved into it still stands in the WAL.
  const reader = new Database(join(from, 'webhook.db'), { readonly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM claims').get();
  for (const name of ['webhook.db', 'webhook.db-wal']) copyFileSync(join(from, name), join(to, name));
  reader.close();
  return to;
}

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
  const { link } = await context.door.makeLink();
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
