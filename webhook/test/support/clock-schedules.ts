import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect } from 'vitest';
import { authorityOf, signRequest } from '@svault/shared';
import { type BoundWebhook, boundWebhook } from './bound-webhook.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A signed `POST /v1/health` of a service whose clock shows this. */
export function signedAt(webhook: BoundWebhook, nowMs: number): RequestInit {
  const authority = authorityOf(webhook.env['SV_WEBHOOK_URL'] ?? '');
  const headers = signRequest({ method: 'POST', authority, path: '/v1/health', key: webhook.key, nowMs });
  return { method: 'POST', headers };
}

/** The times of a ticket that such a service makes. */
export const times = (nowMs: number, lifetimeSeconds: number) => {
  const iat = Math.floor(nowMs / 1000);
  return { iat, exp: iat + lifetimeSeconds };
};

/** Something signed by a service whose own clock is right. */
interface Signed {
  readonly madeAtMs: number;
  readonly maxAgeMs: number;
  use(): Promise<number>;
  wins: number;
}

/**
 * A confirmed reading of the wall clock is at most 30 s behind the service's, and what is accepted ended at most 30 s
 * before that (PROTOCOL.md sections 3 and 4); one second may be lost with a kill.
 */
const GRACE_MS = 61 * SECOND;

/** What may happen next. */
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

/** Something is always accepted once, which must not be again. */
const FIRST = [
  { do: 'sign', ms: 0 },
  { do: 'use', ms: 0 },
] as const;

/**
 * Plays so many schedules of clocks that are set, restarts and power cuts, each on a webhook of its own: nothing lives
 * twice, and nothing that expired lives again.
 */
export async function runClockSchedules(count: number): Promise<void> {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 40 }), async (steps) => {
      const webhook = await boundWebhook();
      try {
        accepted += await play(webhook, [...FIRST, ...steps]);
      } finally {
        await webhook.remove();
      }
    }),
    { numRuns: count },
  );
  expect(accepted).toBeGreaterThanOrEqual(count);
}

/** @returns how many uses were accepted */
async function play(
  webhook: BoundWebhook,
  steps: readonly { readonly do: string; readonly ms: number }[],
): Promise<number> {
  const { clock } = webhook;
  await webhook.store('doc', { tokenType: 'PlainText', value: 'v' });
  const startMs = clock.now() - clock.monotonic();
  const trueMs = (): number => startMs + clock.monotonic();
  const signed: Signed[] = [];
  let accepted = 0;
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
  return accepted;
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
