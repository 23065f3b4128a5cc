import { type Id, ManualClock, formatTime } from '@svault/shared';
import { beforeEach, expect, it } from 'vitest';
import type { SetAside, WebhookLink } from '../core/webhook-link.ts';
import { createSetAsides } from './set-aside.ts';

const MINUTE_MS = 60_000;
let clock: ManualClock;
let link: WebhookLink;
let setAsides: ReturnType<typeof createSetAsides>;

beforeEach(() => {
  clock = new ManualClock();
  link = {
    vaultId: 'vlt_1' as Id<'vlt'>,
    webhookId: 'whk_1',
    url: 'https://webhook.example',
    key: { id: 'k1', wrapped: '' },
    pendingKey: undefined,
    capabilities: [],
    boundAt: formatTime(clock.now()),
    boundBy: 'usr_1' as Id<'usr'>,
    lastSeenAt: undefined,
    latencyMs: undefined,
  };
  const store = {
    setAside: (_link: WebhookLink, setAside: SetAside | undefined): Promise<void> => {
      const { setAside: _former, ...rest } = link;
      link = setAside === undefined ? rest : { ...rest, setAside };
      return Promise.resolve();
    },
  };
  setAsides = createSetAsides(store, clock);
});

it('a pause lasts a minute, and twice as long after each further incident, up to an hour', async () => {
  const minutes: number[] = [];
  for (let strikes = 1; strikes <= 8; strikes++) {
    await setAsides.add(link, 'too_many_answers');
    minutes.push((Date.parse(link.setAside?.until ?? '') - clock.now()) / MINUTE_MS);
  }
  expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

it('a webhook is set aside until the pause ends, and not by a time beyond the longest pause', async () => {
  expect(setAsides.isSetAside(link)).toBe(false);
  await setAsides.add(link, 'too_many_answers');
  clock.advance(MINUTE_MS - 1);
  expect(setAsides.isSetAside(link)).toBe(true);
  clock.advance(1);
  expect(setAsides.isSetAside(link)).toBe(false);
  const until = formatTime(clock.now() + 60 * MINUTE_MS + 1);
  expect(setAsides.isSetAside({ ...link, setAside: { reason: 'too_many_answers', strikes: 1, until } })).toBe(
    false,
  );
});
