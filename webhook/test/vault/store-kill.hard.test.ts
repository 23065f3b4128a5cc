/** R2 for stores: kill -9 of the webhook between any two steps, 200 times. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { boundWebhook } from '../support/bound-webhook.ts';
import { runWebhook } from '../support/run-webhook.ts';
import { lossesOf, newWriters, storeUntilKilled } from '../support/store-until-killed.ts';

const KILLS = 200;

test('over 200 kills a record is the old or the new one, and nothing answered 200 is lost', async () => {
  const webhook = await boundWebhook({ clock: new ManualClock(Date.now()) });
  try {
    const writers = newWriters(6);
    for (let kills = 0; kills < KILLS; kills += 1) {
      await webhook.stop();
      await storeUntilKilled(webhook, writers, { afterAnswers: 1 + Math.floor(Math.random() * 40) });
      await webhook.restart();
      expect([kills, await lossesOf(webhook, writers)]).toEqual([kills, []]);
    }
    await webhook.stop();
    const db = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    const logged = db.prepare<[string], number>(
      `SELECT json_extract(detail, '$.version') FROM audit_log
       WHERE event_type = 'CREDENTIAL_STORED' AND outcome = 'success' AND service_name = ? ORDER BY row`,
    );
    for (const { serviceName, answered } of writers) {
      // Every version once, without a hole: each store is in the log, and none that was not.
      const versions = answered.map(({ version }) => version);
      expect(versions).toEqual(versions.map((_, at) => at + 1));
      expect(logged.pluck().all(serviceName)).toEqual(versions);
    }
    db.close();
    expect((await runWebhook(webhook.env, 'audit', 'verify')).stdout).toMatch(/the log is whole/);
  } finally {
    await webhook.remove();
  }
});
