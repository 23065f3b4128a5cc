import { openPlain } from '@svault/server-kit/sqlite';
import { VERSION } from '@svault/server-kit/version';
import { ManualClock } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from '../../src/sqlite/schema.ts';
import { webhookOfTest } from '../support/bound-webhook.ts';
import { command, runWebhook } from '../support/run-webhook.ts';

const [last] = MIGRATIONS.toSorted((a, b) => b.id - a.id);
if (last?.name !== 'checkpoints') throw new Error('undo the newest migration in place of this one');

test('migrate --check says beside a running serve what is pending, and changes nothing; migrate applies it', async () => {
  const webhook = await webhookOfTest({ clock: new ManualClock(Date.now()) });
  await webhook.store('kept', { tokenType: 'PlainText', value: 'first' });
  expect(await runWebhook(webhook.env, 'migrate', '--check')).toMatchObject({ code: 0, stderr: '' });
  await webhook.stop();
  const db = openPlain(join(webhook.dataDir, 'webhook.db'));
  onTestFinished(() => void db.close());
  db.exec(`DROP TABLE checkpoints; DROP TABLE checkpoint_key;
    DELETE FROM schema_migrations WHERE id = ${last.id}`);
  expect(await command(webhook, 'migrate', '--check')).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(
      new RegExp(`\\nPending: ${last.id} \\(checkpoints\\), expand\\.\\n.* keep working`),
    ),
  });
  expect(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'checkpoints'").get()).toBeUndefined();
  expect(await command(webhook, 'migrate')).toMatchObject({
    code: 0,
    stdout: `Applied ${last.id} checkpoints.\n`,
  });
  expect(await command(webhook, 'migrate')).toMatchObject({ code: 0, stdout: 'No migration was pending.\n' });
  await webhook.restart();
  expect((await webhook.credential('kept')).json.token.accessToken).toBe('first');
});

test('the webhook starts again after a newer one that only added, and names both versions after one that did not', async () => {
  const webhook = await webhookOfTest({ clock: new ManualClock(Date.now()) });
  await webhook.store('kept', { tokenType: 'PlainText', value: 'first' });
  await webhook.stop();
  const db = openPlain(join(webhook.dataDir, 'webhook.db'));
  onTestFinished(() => void db.close());
  db.exec(
    `ALTER TABLE records ADD COLUMN later TEXT; INSERT INTO schema_migrations VALUES (901, 'later', 0, '9.8.7')`,
  );
  await webhook.restart();
  expect((await webhook.credential('kept')).json.token.accessToken).toBe('first');
  await webhook.store('kept', { tokenType: 'PlainText', value: 'second' });
  await webhook.stop();
  db.exec("INSERT INTO schema_migrations VALUES (902, 'last', 901, '9.9.0')");
  await expect(webhook.restart()).rejects.toThrow(
    new RegExp(
      `schema 902 \\(last\\), applied by svault 9\\.9\\.0,.* this is svault ${VERSION}, which knows up to ${last.id}`,
    ),
  );
});

test('migrate makes no vault', async () => {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const { env } = await webhookOfTest({ clock: new ManualClock(Date.now()) });
  const elsewhere = { env: { ...env, SV_WEBHOOK_DATA_DIR: join(dir.path, 'none') } };
  expect(await command(elsewhere, 'migrate')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('no database yet'),
  });
  expect(await command(elsewhere, 'migrate', '--check')).toMatchObject({ code: 3 });
  expect(readdirSync(dir.path)).toEqual([]);
});
