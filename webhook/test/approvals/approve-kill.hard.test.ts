/** kill -9 of the webhook while requests are asked, approved and used, 200 times. */
import { expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { APPROVAL, enrol } from '../support/approvals.ts';
import { approveUntilKilled, faultsOf } from '../support/approve-until-killed.ts';
import { boundWebhook } from '../support/bound-webhook.ts';
import { command, runWebhook } from '../support/run-webhook.ts';

const KILLS = 200;
/** Two processes start for each kill, which takes seconds where the machine is busy. */
const HANG_MS = 3_600_000;

test(
  'over 200 kills no approval is used twice, and none that was answered 200 is lost',
  { timeout: HANG_MS },
  async () => {
    const webhook = await boundWebhook({ clock: new ManualClock(Date.now()) });
    try {
      await webhook.store('api', { tokenType: 'PlainText', value: 'x', approval: APPROVAL });
      const ana = await enrol(webhook);
      for (let kills = 0; kills < KILLS; kills += 1) {
        await webhook.stop();
        const reports = await approveUntilKilled(webhook, ana, 1 + Math.floor(Math.random() * 30));
        await webhook.restart();
        expect([kills, await faultsOf(webhook, reports)]).toEqual([kills, []]);
        // What waits at each kill would come to the bound for one credential.
        if (kills % 20 === 19)
          expect(await command(webhook, 'approvals', 'revoke', '--all')).toMatchObject({ code: 0 });
      }
      expect((await runWebhook(webhook.env, 'audit', 'verify')).stdout).toMatch(/the log is whole/);
    } finally {
      await webhook.remove();
    }
  },
);
