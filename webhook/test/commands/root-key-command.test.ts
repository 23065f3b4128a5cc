import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ManualClock, toBase64url } from '@svault/shared';
import { ageKeyCommand } from '@svault/test-kit/age-key-command';
import { tempDir } from '@svault/test-kit/temp-dir';
import { webhookOfTest } from '../support/bound-webhook.ts';
import { runWebhook, serveProcess } from '../support/run-webhook.ts';

it('the command of a root key is run once at each start and subcommand, and the rotation moves to what another one prints', async () => {
  const webhook = await webhookOfTest({ clock: new ManualClock(Date.now()) });
  expect((await webhook.store('kept', { tokenType: 'PlainText', value: 'secret' })).status).toBe(200);
  await webhook.stop();
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const { SV_WEBHOOK_MASTER_KEY: present = '', ...others } = webhook.env;
  const nextKey = toBase64url(randomBytes(32));
  const [root, next] = [
    ageKeyCommand(join(dir.path, 'root'), present),
    ageKeyCommand(join(dir.path, 'next'), nextKey),
  ];
  const env = { ...others, SV_WEBHOOK_MASTER_KEY_COMMAND: root.command };

  const serving = await serveProcess(env);
  expect(root.runs()).toBe(1);
  const rotating = { ...env, SV_WEBHOOK_MASTER_KEY_NEXT_COMMAND: next.command };
  expect(await runWebhook(rotating, 'rotate-master-key')).toEqual({
    code: 0,
    stdout:
      'The root key is rotated.\nHave the command of SV_WEBHOOK_MASTER_KEY_COMMAND print the new key before the next start.\n',
    stderr: '',
  });
  expect([root.runs(), next.runs()]).toEqual([2, 1]);
  await serving.end('SIGTERM');
  expect(await runWebhook(env, 'audit', 'verify')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('does not open'),
  });
  await webhook.restart({ SV_WEBHOOK_MASTER_KEY: '', SV_WEBHOOK_MASTER_KEY_COMMAND: next.command });
  expect((await webhook.credential('kept')).json.token.accessToken).toBe('secret');
});

it('a command of a root key that fails ends the start with code 1 and its own words on stderr, and one that prints another thing with 2', async () => {
  const webhook = await webhookOfTest();
  await webhook.stop();
  const { SV_WEBHOOK_MASTER_KEY: _replaced, ...others } = webhook.env;
  const start = (command: string) =>
    runWebhook({ ...others, SV_WEBHOOK_MASTER_KEY_COMMAND: command }, 'serve');
  const failed = await start("sh -c 'echo the token is not there >&2; exit 3'");
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toMatch(
    /^the token is not there\n[^]*SV_WEBHOOK_MASTER_KEY_COMMAND: sh failed with exit code 3/,
  );
  const wrong = await start('echo hunter2');
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toMatch(/SV_WEBHOOK_MASTER_KEY must be 32 bytes .*; its command printed 7 bytes/);
  expect(wrong.stderr).not.toContain('hunter2');
});
