import { expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { APPROVAL, enrol } from '../support/approvals.ts';
import { approveUntilKilled, faultsOf } from '../support/approve-until-killed.ts';
import { webhookOfTest } from '../support/bound-webhook.ts';
import { command } from '../support/run-webhook.ts';

// 200 kills: approve-kill.hard.test.ts.
test('A process that is killed uses no approval twice, and loses none that was answered 200', async () => {
  const webhook = await webhookOfTest({ clock: new ManualClock(Date.now()) });
  await webhook.store('api', { tokenType: 'PlainText', value: 'x', approval: APPROVAL });
  const ana = await enrol(webhook);
  let approvals = 0;
  for (const afterAnswers of [2, 11, 60]) {
    await webhook.stop();
    const reports = await approveUntilKilled(webhook, ana, afterAnswers);
    await webhook.restart();
    expect(await faultsOf(webhook, reports)).toEqual([]);
    approvals += reports.filter(({ isApproved }) => isApproved).length;
  }
  expect(approvals).toBeGreaterThan(8);
  expect(await command(webhook, 'audit', 'verify')).toMatchObject({ code: 0 });
});
