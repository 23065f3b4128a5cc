import { expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { webhookOfTest } from '../support/bound-webhook.ts';
import { command } from '../support/run-webhook.ts';
import { lossesOf, newWriters, storeUntilKilled } from '../support/store-until-killed.ts';

// 200 kills: store-kill.hard.test.ts.
test('A process that is killed during stores loses nothing that was answered 200 (R2)', async () => {
  const webhook = await webhookOfTest({ clock: new ManualClock(Date.now()) });
  const writers = newWriters(4);
  for (const afterAnswers of [1, 9, 33]) {
    await webhook.stop();
    await storeUntilKilled(webhook, writers, { afterAnswers });
    await webhook.restart();
    expect(await lossesOf(webhook, writers)).toEqual([]);
  }
  expect(writers.flatMap(({ answered }) => answered).length).toBeGreaterThanOrEqual(1 + 9 + 33);
  expect(await command(webhook, 'audit', 'verify')).toMatchObject({ code: 0 });
});
