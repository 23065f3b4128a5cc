/** R4 at length: 3,000 tickets, 20 uses each at the same time, the webhook killed now and then. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { boundWebhook } from '../support/bound-webhook.ts';
import { runWebhook, serveProcess } from '../support/run-webhook.ts';
import { setToNow } from '../support/store-until-killed.ts';
import { raceTickets } from '../support/ticket-race.ts';

const ROUNDS = 10;
const TICKETS = 300;

test('of 3,000 tickets each is answered 200 once, over restarts and kills', async () => {
  const webhook = await boundWebhook({ clock: new ManualClock(Date.now()) });
  try {
    await webhook.store('github', { tokenType: 'PlainText', value: 'v' });
    await webhook.stop();
    let used: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const serving = await serveProcess(webhook.env);
      setToNow(webhook);
      const tickets = Array.from({ length: TICKETS }, () => webhook.credentialTicket('github'));
      const again = await raceTickets(serving.url, used, { uses: 2, inFlight: 64 });
      expect(again.filter((count) => count !== 0)).toEqual([]);
      const wins = await raceTickets(serving.url, tickets, { uses: 20, inFlight: 128 });
      expect(wins.filter((count) => count !== 1)).toEqual([]);
      used = tickets;
      await serving.end(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    }
    const log = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
    const delivered = log.prepare(`SELECT count(*) FROM audit_log WHERE event_type = 'CREDENTIAL_DELIVERED'`);
    expect(delivered.pluck().get()).toBe(ROUNDS * TICKETS);
    log.close();
    expect(await runWebhook(webhook.env, 'audit', 'verify')).toMatchObject({ code: 0 });
  } finally {
    await webhook.remove();
  }
});
