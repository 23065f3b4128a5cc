/** R20 at length: rotations of the root key, killed at any moment, beside a serve that stores and delivers. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { ManualClock, randomToken, toBase64url } from '@svault/shared';
import { programEnv } from '@svault/test-kit/program-env';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { runWebhook } from '../support/run-webhook.ts';
import { setToNow } from '../support/store-until-killed.ts';

const ROTATIONS = 15;
const RECORDS = 400;
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

test('after a killed rotation every record opens and the rotation continues', async () => {
  const webhook = await boundWebhook({ clock: new ManualClock(Date.now()) });
  try {
    const values = new Map<string, string>();
    const store = async (name: string): Promise<void> => {
      const value = randomToken();
      expect((await webhook.store(name, { tokenType: 'PlainText', value })).status).toBe(200);
      values.set(name, value);
    };
    for (let count = 0; count < RECORDS; count += 1) await store(`record ${count}`);

    let killedHalfWay = 0;
    for (let round = 0; round < ROTATIONS; round += 1) {
      setToNow(webhook);
      const next = toBase64url(randomBytes(32));
      const env = { ...webhook.env, SV_WEBHOOK_MASTER_KEY_NEXT: next };
      for (let kills = 0; kills < 3; kills += 1) {
        const rotating = rotateAndKill(env, webhook);
        for (let count = 0; count < 5; count += 1)
          await store(`record ${(round * 31 + count * 7) % RECORDS}`);
        await rotating;
        if (masterKeysOf(webhook) === 2) killedHalfWay += 1;
      }
      expect(await runWebhook(env, 'rotate-master-key')).toMatchObject({ code: 0, stderr: '' });
      expect(masterKeysOf(webhook)).toBe(1);
      // A serve with the new key alone opens all of it: nothing was left under the former one.
      await webhook.restart({ SV_WEBHOOK_MASTER_KEY: next });
      for (const [name, value] of values)
        expect((await webhook.credential(name)).json.token.accessToken).toBe(value);
    }
    expect(killedHalfWay).toBeGreaterThan(0);
    expect(await runWebhook(webhook.env, 'audit', 'verify')).toMatchObject({ code: 0 });
  } finally {
    await webhook.remove();
  }
});

/** Kills the rotation somewhere in its work, which begins when its key stands in the database; or lets it end. */
async function rotateAndKill(env: NodeJS.ProcessEnv, webhook: BoundWebhook): Promise<void> {
  const child = spawn(process.execPath, [MAIN, 'rotate-master-key'], {
    env: programEnv(env),
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  await expect
    .poll(() => masterKeysOf(webhook) === 2 || child.exitCode !== null, { timeout: 20_000, interval: 1 })
    .toBe(true);
  const instant = Math.random() * 15;
  const killer = setTimeout(() => child.kill('SIGKILL'), instant);
  await ended;
  clearTimeout(killer);
}

function masterKeysOf(webhook: BoundWebhook): number {
  const db = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
  try {
    return db.prepare<[], number>('SELECT count(*) FROM master_keys').pluck().get() ?? 0;
  } finally {
    db.close();
  }
}
