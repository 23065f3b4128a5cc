import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { ManualClock, fromBase64url, randomToken, toBase64url } from '@svault/shared';
import { backUpThroughKills } from '@svault/test-kit/back-up-through-kills';
import { createKiller, timeOfWork } from '@svault/test-kit/kill-in-work';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect, onTestFinished } from 'vitest';
import { type BoundWebhook, webhookOfTest } from './bound-webhook.ts';
import { runWebhook } from './run-webhook.ts';
import { setToNow } from './store-until-killed.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

const AT_ONCE = 25;

/** A webhook that serves, with records of which it knows the values. */
interface Filled {
  readonly webhook: BoundWebhook;
  /** Stores another value. */
  store(name: string): Promise<void>;
  /** Starts it anew, and reads every record. */
  readAll(env?: NodeJS.ProcessEnv): Promise<void>;
}

async function filled(records: number): Promise<Filled> {
  const webhook = await webhookOfTest({ clock: new ManualClock(Date.now()) });
  const values = new Map<string, string>();
  const store = async (name: string): Promise<void> => {
    const value = randomToken();
    expect((await webhook.store(name, { tokenType: 'PlainText', value })).status).toBe(200);
    values.set(name, value);
  };
  for (let count = 0; count < records; count += 1) await store(`record ${count}`);
  const readAll: Filled['readAll'] = async (env) => {
    setToNow(webhook);
    await webhook.restart(env);
    const entries = [...values];
    // Together, since deliveries of the same moment share a sync of the disk.
    while (entries.length > 0) await Promise.all(entries.splice(-AT_ONCE).map(readOne));
  };
  const readOne = async ([name, value]: [string, string]): Promise<void> =>
    expect((await webhook.credential(name)).json.token.accessToken).toBe(value);
  return { webhook, store, readAll };
}

/** Kills `backup` while records are stored; after each kill the webhook starts and has all of them. */
export async function killBackups({ kills, records }: { readonly kills: number; readonly records: number }) {
  const { webhook, store, readAll } = await filled(records);
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const backedUp = {
    program: 'webhook',
    main: MAIN,
    env: webhook.env,
    databasePath: join(webhook.dataDir, 'webhook.db'),
    masterKey: fromBase64url(webhook.env['SV_WEBHOOK_MASTER_KEY'] ?? '') ?? new Uint8Array(),
    folder: dir.path,
  } as const;
  const halfDone = await backUpThroughKills(backedUp, kills, async () => {
    await store('record 0');
    await readAll();
  });
  expect(halfDone).toBeGreaterThan(0);
}

/**
 * Kills `rotate-master-key` while records are stored; after each kill the webhook starts with both keys and has all of them.
 *
 * @returns how many of the kills left both keys in use
 */
export async function killRotations({
  kills,
  records,
}: {
  readonly kills: number;
  readonly records: number;
}): Promise<number> {
  const { webhook, store, readAll } = await filled(records);
  const rotation = () => {
    const env = { ...webhook.env, SV_WEBHOOK_MASTER_KEY_NEXT: toBase64url(randomBytes(32)) };
    return { main: MAIN, words: ['rotate-master-key'], env, begun: () => masterKeysOf(webhook) === 2 };
  };
  const finish = async ({ env }: ReturnType<typeof rotation>): Promise<void> => {
    expect(await runWebhook(env, 'rotate-master-key')).toMatchObject({ code: 0, stderr: '' });
    expect(masterKeysOf(webhook)).toBe(1);
    // With the new key alone: nothing was left under the former one.
    await readAll({ SV_WEBHOOK_MASTER_KEY: env.SV_WEBHOOK_MASTER_KEY_NEXT, SV_WEBHOOK_MASTER_KEY_NEXT: '' });
  };
  const first = rotation();
  const killInWork = createKiller(await timeOfWork(first));
  await finish(first);
  let [left, halfDone] = [kills, 0];
  while (left > 0) {
    const next = rotation();
    for (let again = 0; again < 3 && left > 0; again += 1) {
      const killing = killInWork(next);
      await store('record 0');
      if (!(await killing)) break;
      left -= 1;
      if (masterKeysOf(webhook) === 2) halfDone += 1;
      await readAll({ SV_WEBHOOK_MASTER_KEY_NEXT: next.env.SV_WEBHOOK_MASTER_KEY_NEXT });
    }
    await finish(next);
  }
  expect(await runWebhook(webhook.env, 'audit', 'verify')).toMatchObject({ code: 0 });
  return halfDone;
}

function masterKeysOf(webhook: BoundWebhook): number {
  const db = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
  try {
    return db.prepare<[], number>('SELECT count(*) FROM master_keys').pluck().get() ?? 0;
  } finally {
    db.close();
  }
}
