/** R2 for refreshes: kill -9 of the webhook between any two steps, 200 times. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { refreshBench } from '../support/refresh-bench.ts';
import {
  type KillMoment,
  afterKill,
  refreshUntilKilled,
  storeFetched,
} from '../support/refresh-until-killed.ts';
import { runWebhook } from '../support/run-webhook.ts';

const KILLS = 200;
/** Two starts each: some minutes where nothing else runs. */
const HALF_AN_HOUR_MS = 1_800_000;
const MOMENTS: readonly KillMoment[] = ['call dropped', 'call served', 'in between', 'in between'];

test(
  'over 200 kills no rotated refresh token is lost, except where its response reached no process, which is reported',
  async () => {
    const bench = await refreshBench({ clock: new ManualClock(Date.now()) });
    try {
      bench.provider.expiresIn = 0;
      const tokens = await Promise.all(
        ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => storeFetched(bench, name)),
      );
      for (let kills = 0; kills < KILLS; kills += 1) {
        const moment = MOMENTS[kills % MOMENTS.length] ?? 'in between';
        // With one token it is known at which step of it the kill comes; the others are at any step.
        const fetched = moment === 'in between' ? tokens : tokens.slice(0, 1);
        const afterCalls = 1 + Math.floor(Math.random() * (moment === 'in between' ? 30 : 8));
        await bench.webhook.stop();
        await refreshUntilKilled(bench, fetched, { moment, afterCalls });
        await bench.webhook.restart();
        const after = await afterKill(bench, tokens);
        expect([kills, moment, after.wrong]).toEqual([kills, moment, []]);
        if (moment !== 'in between')
          expect([kills, moment, after.lost]).toEqual([kills, moment, moment === 'call served' ? 1 : 0]);
      }
      await bench.webhook.stop();
      const db = new Database(join(bench.webhook.dataDir, 'webhook.db'), { readonly: true });
      expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
      expect(db.pragma('foreign_key_check')).toEqual([]);
      db.close();
      expect((await runWebhook(bench.webhook.env, 'audit', 'verify')).stdout).toMatch(/the log is whole/);
    } finally {
      await bench.close();
    }
  },
  HALF_AN_HOUR_MS,
);
