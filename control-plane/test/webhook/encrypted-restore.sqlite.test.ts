import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { randomToken } from '@svault/shared';
import { makeAgeIdentity } from '@svault/test-kit/age-identity';
import { startPair } from '@svault/test-kit/pair';
import { ROOT, type Finished, run } from '@svault/test-kit/run-program';
import { expect, onTestFinished, test } from 'vitest';
import { agentOn, storeOn } from '../support/pair-agents.ts';

const CREDENTIALS = 25;
/** After it the webhook takes requests again (PROTOCOL.md section 4), by both clocks of this test. */
const RESTORED_MS = 31_000;

test('encrypted backups of both programs, restored on empty machines, deliver every credential, and the binding continues', async () => {
  const pair = await startPair({ startMs: Date.now(), logLevel: 'silent' });
  onTestFinished(() => pair.close());
  const secrets = new Map<string, string>();
  for (let count = 0; count < CREDENTIALS; count += 1) secrets.set(`service-${count}`, randomToken());
  for (const [name, value] of secrets) await storeOn(pair, name, { tokenType: 'PlainText', value });
  const agent = await agentOn(pair, ...secrets.keys());

  const machine = (name: string) => {
    const folder = join(pair.dir, name);
    mkdirSync(folder);
    return {
      SV_DATABASE_URL: `sqlite:${join(folder, 'cp.db')}`,
      SV_WEBHOOK_DATA_DIR: join(folder, 'webhook'),
    };
  };
  const subcommand = (
    program: keyof typeof pair.masterKeys,
    places: object,
    ...words: string[]
  ): Promise<Finished> =>
    run([process.execPath, join(ROOT, program, 'src/main.ts'), ...words], {
      env: {
        SV_BASE_URL: 'http://127.0.0.1:1',
        SV_MASTER_KEY: pair.masterKeys['control-plane'],
        SV_WEBHOOK_URL: pair.webhookUrl,
        SV_WEBHOOK_SERVICE_URL: 'http://127.0.0.1:1',
        SV_WEBHOOK_MASTER_KEY: pair.masterKeys.webhook,
        ...places,
      },
    });
  const identity = makeAgeIdentity(join(pair.dir, 'identity'));
  const running = {
    SV_DATABASE_URL: pair.databaseUrl,
    SV_WEBHOOK_DATA_DIR: join(pair.dir, 'webhook'),
    SV_BACKUP_RECIPIENTS: identity.recipient,
  };
  const restored = machine('restored');
  for (const program of ['control-plane', 'webhook'] as const) {
    const backup = join(pair.dir, `${program}.backup`);
    expect(await subcommand(program, running, 'backup', backup)).toEqual({
      code: 0,
      stdout: `Wrote ${backup}, encrypted. It opens with the identity of a recipient and the present root key: keep both.\n`,
      stderr: '',
    });
    const fetched = join(pair.dir, `${program}.fetched`);
    copyFileSync(backup, fetched);
    expect(await subcommand(program, restored, 'restore-backup', fetched)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is encrypted: name the file of the age identity after it'),
    });
    expect(await subcommand(program, restored, 'restore-backup', fetched, identity.path)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Restored the backup of '),
    });
    await pair.stop(program);
  }

  pair.clock.advance(Date.now() - pair.clock.now() + RESTORED_MS);
  await pair.start('webhook', restored);
  await pair.start('control-plane', restored);
  for (const [name, accessToken] of secrets)
    expect((await agent.fetch(name)).json).toMatchObject({ token: { accessToken } });
});
