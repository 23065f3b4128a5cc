/** R2 for refreshes: kill -9 of the webhook between any two steps, 200 times. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { refreshBench } from './refresh-bench.ts';
import { type KillMoment, afterKill, refreshUntilKilled, storeFetched } from './refresh-until-killed.ts';
import { runWebhook } from './run-webhook.ts';

const KILLS = 200;
const MOMENTS: readonly KillMoment[] = ['call dropped', 'call served', 'in between', 'in between'];

test('no rotated refresh token is lost but where its answer found nobody, which is shown, over 200 kills', async () => {
  const bench = await refreshBench({ clock: new ManualClock(Date.now()) });
  try {
    bench.provider.expiresIn = 0;
    const tokens = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => storeFetched(bench, name)));
    const lost: Record<KillMoment, number> = { 'call dropped': 0, 'call served': 0, 'in between': 0 };
    for (let kills = 0; kills < KILLS; kills += 1) {
      const moment = MOMENTS[kills % MOMENTS.length] ?? 'in between';
      await bench.webhook.stop();
      await refreshUntilKilled(bench, tokens, { moment, afterCalls: 1 + Math.floor(Math.random() * 30) });
      await bench.webhook.restart();
      const after = await afterKill(bench, tokens);
      expect([kills, moment, after.wrong]).toEqual([kills, moment, []]);
      lost[moment] += after.lost;
    }
    expect(lost['call dropped']).toBe(0);
    expect(lost['call served']).toBeGreaterThan(0);
    await bench.webhook.stop();
    const db = new Database(join(bench.webhook.dataDir, 'webhook.db'), { readonly: true });
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(db.pragma('foreign_key_check')).toEqual([]);
    db.close();
    expect((await runWebhook(bench.webhook.env, 'audit', 'verify')).stdout).toMatch(/the log is whole/);
  } finally {
    await bench.close();
  }
});
