import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogger, silentLogger } from '@svault/server-kit/logger';
import { ManualClock, fromBase64url, systemClock, toBase64url } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { tempDir } from '@svault/test-kit/temp-dir';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { startWebhook } from '../../src/serve.ts';
import { rotateMasterKey } from '../../src/vault/master-key-rotation.ts';
import { type BoundWebhook, webhookOfTest } from '../support/bound-webhook.ts';
import { command, runWebhook, serveProcess } from '../support/run-webhook.ts';

const PLAIN = { tokenType: 'PlainText', value: 'first' };

/** On the real time of day, since commands run in processes of their own. */
const bound = (env: NodeJS.ProcessEnv = {}): Promise<BoundWebhook> =>
  webhookOfTest({ clock: new ManualClock(Date.now()), env });
const newKey = (): string => toBase64url(randomBytes(32));

function everyByte(dir: string): Record<string, string> {
  const digest = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(dir, name)))
      .digest('hex');
  return Object.fromEntries(
    readdirSync(dir).map((name) => [name, `${statSync(join(dir, name)).size} ${digest(name)}`]),
  );
}

describe('a data folder', () => {
  it('is served by one process at a time', async () => {
    const webhook = await bound();
    const second = await runWebhook(webhook.env, 'serve');
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(/another process already serves/);
    expect((await webhook.send('/readyz')).status).toBe(200);
  });

  it('can be read only by its owner', async () => {
    const webhook = await bound();
    expect(statSync(webhook.dataDir).mode & 0o777).toBe(0o700);
  });
});

describe('the root key', () => {
  it('stops the start if it is wrong, missing or truncated, and changes no byte', async () => {
    const webhook = await bound();
    await webhook.store('kept', PLAIN);
    const { SV_WEBHOOK_MASTER_KEY: key = '', ...without } = webhook.env;
    await webhook.stop();
    const before = everyByte(webhook.dataDir);
    for (const [env, problem] of [
      [{ SV_WEBHOOK_MASTER_KEY: newKey() }, /does not open this vault/],
      [{ SV_WEBHOOK_PASSPHRASE: 'not how it was made' }, /does not open this vault/],
      [{ SV_WEBHOOK_MASTER_KEY: key.slice(0, -1) }, /SV_WEBHOOK_MASTER_KEY must be 32 bytes/],
      [{}, /SV_WEBHOOK_MASTER_KEY is missing/],
      [{ SV_WEBHOOK_MASTER_KEY: key, SV_WEBHOOK_PASSPHRASE: 'both of them given' }, /are both set/],
    ] as const) {
      const refused = await command({ env: { ...without, ...env } }, 'serve');
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toMatch(problem);
      expect(everyByte(webhook.dataDir)).toEqual(before);
    }
    await webhook.restart();
    expect((await webhook.credential('kept')).json.token.accessToken).toBe('first');
  });

  it('changes no byte of the WAL of a killed process', async () => {
    const dir = tempDir();
    onTestFinished(() => dir.remove());
    const webhook = await bound();
    const env = { ...webhook.env, SV_WEBHOOK_DATA_DIR: `${dir.path}/data` };
    const serving = await serveProcess(env);
    await serving.end('SIGKILL');
    const before = everyByte(env.SV_WEBHOOK_DATA_DIR);
    const refused = await command({ env: { ...env, SV_WEBHOOK_MASTER_KEY: newKey() } }, 'serve');
    expect(refused.stderr).toMatch(/does not open this vault/);
    const { 'webhook.db-shm': _before, ...data } = before;
    const { 'webhook.db-shm': _after, ...after } = everyByte(env.SV_WEBHOOK_DATA_DIR);
    expect(after).toEqual(data);
  });

  it('is not generated for a vault whose key entry is lost', async () => {
    const webhook = await bound();
    await webhook.store('doc', PLAIN);
    await webhook.stop();
    const db = new Database(join(webhook.dataDir, 'webhook.db'));
    db.exec('DELETE FROM master_keys');
    const rows = (): unknown => db.prepare('SELECT * FROM epochs, audit_log').all();
    const before = rows();
    for (const env of [webhook.env, { ...webhook.env, SV_WEBHOOK_MASTER_KEY: newKey() }])
      await expect(startWebhook(webhookConfig(env), { logger: silentLogger })).rejects.toThrow(/has lost/);
    expect(rows()).toEqual(before);
    expect(db.prepare('SELECT * FROM master_keys').all()).toEqual([]);
    db.close();
  });

  it('may be derived from a passphrase', async () => {
    const passphrase = 'correct horse battery staple';
    const webhook = await bound({ SV_WEBHOOK_MASTER_KEY: '', SV_WEBHOOK_PASSPHRASE: passphrase });
    await webhook.store('kept', PLAIN);
    await webhook.restart();
    expect((await webhook.credential('kept')).status).toBe(200);
    const wrong = webhookConfig({ ...webhook.env, SV_WEBHOOK_PASSPHRASE: `${passphrase}!` });
    await webhook.stop();
    await expect(startWebhook(wrong, { logger: silentLogger })).rejects.toThrow(/does not open this vault/);
  });

  it('is rotated while serve runs, and its binding and records stay readable', async () => {
    const webhook = await bound();
    await webhook.store('before', PLAIN);
    const next = newKey();
    const former = webhook.env['SV_WEBHOOK_MASTER_KEY'] ?? '';
    const both = { ...webhook.env, SV_WEBHOOK_MASTER_KEY_NEXT: next };
    expect(await runWebhook(both, 'rotate-master-key')).toMatchObject({
      code: 0,
      stdout: 'The root key is rotated.\nSet SV_WEBHOOK_MASTER_KEY to the new key before the next start.\n',
      stderr: '',
    });
    await webhook.store('after', PLAIN);
    expect((await webhook.credential('before')).status).toBe(200);
    expect((await webhook.credential('after')).status).toBe(200);
    expect((await command({ env: both }, 'rotate-master-key')).stdout).toMatch(/had been rotated already/);

    await webhook.restart({ SV_WEBHOOK_MASTER_KEY: next });
    expect((await webhook.credential('before')).status).toBe(200);
    expect((await webhook.credential('after')).status).toBe(200);
    await webhook.stop();
    expect((await command({ env: { ...webhook.env, SV_WEBHOOK_MASTER_KEY: former } }, 'serve')).code).toBe(1);
    // The former key opens nothing of the file any more, by no link either.
    const db = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
    expect(db.prepare('SELECT state, link FROM master_keys').all()).toEqual([
      { state: 'current', link: null },
    ]);
    db.close();
  });

  it('rotated in part starts only with both keys, and the rotation continues after a kill', async () => {
    const webhook = await bound();
    for (const name of ['a', 'b']) await webhook.store(name, PLAIN);
    await webhook.stop();
    const former = webhook.env['SV_WEBHOOK_MASTER_KEY'] ?? '';
    const next = newKey();
    await rotateHalfWay(webhook.env, next);

    const before = everyByte(webhook.dataDir);
    for (const key of [former, next]) {
      const refused = await command({ env: { ...webhook.env, SV_WEBHOOK_MASTER_KEY: key } }, 'serve');
      expect(refused).toMatchObject({ code: 1 });
      expect(refused.stderr).toMatch(/was interrupted/);
    }
    expect(everyByte(webhook.dataDir)).toEqual(before);

    const both = { ...webhook.env, SV_WEBHOOK_MASTER_KEY_NEXT: next };
    const third = await command(
      { env: { ...both, SV_WEBHOOK_MASTER_KEY_NEXT: newKey() } },
      'rotate-master-key',
    );
    expect(third.code).toBe(1);
    await webhook.restart({ SV_WEBHOOK_MASTER_KEY_NEXT: next });
    expect((await webhook.credential('a')).status).toBe(200);
    expect(await command({ env: both }, 'rotate-master-key')).toMatchObject({ code: 0 });
    await webhook.restart({ SV_WEBHOOK_MASTER_KEY: next, SV_WEBHOOK_MASTER_KEY_NEXT: '' });
    expect((await webhook.credential('b')).status).toBe(200);
  });

  it('is not rotated without a next key', async () => {
    const webhook = await bound();
    const refused = await command(webhook, 'rotate-master-key');
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toMatch(/SV_WEBHOOK_MASTER_KEY_NEXT is missing/);
  });
});

/** What a kill leaves after the first store's rows were moved. */
async function rotateHalfWay(env: NodeJS.ProcessEnv, next: string): Promise<void> {
  const context = await openContext(webhookConfig(env), { clock: systemClock, logger: silentLogger });
  const { masterKeys: store, keyring, rewrappables, audit, db } = context;
  const transact = <T>(work: () => T): T => db.transaction(work).immediate();
  const pause = (): Promise<void> => Promise.reject(new Error('killed'));
  const rotation = { store, keyring, rewrappables, audit, transact, pause };
  await expect(rotateMasterKey(rotation, fromBase64url(next)!)).rejects.toThrow('killed');
  context.close();
}

describe('former versions', () => {
  it('are brought back by restore, under a new version, and are erased by purge', async () => {
    const webhook = await bound();
    await webhook.store('doc', PLAIN);
    await webhook.store('doc', { ...PLAIN, value: 'second' });
    const value = async () => (await webhook.credential('doc')).json.token.accessToken;
    expect(await command(webhook, 'restore', 'doc')).toMatchObject({
      code: 0,
      stdout: 'doc is back as version 3; kept were 1\n',
    });
    expect(await value()).toBe('first');
    await command(webhook, 'restore', 'doc');
    expect(await value()).toBe('second');

    await webhook.storage({ op: 'tokens.delete', serviceName: 'doc' });
    await command(webhook, 'restore', 'doc');
    expect(await value()).toBe('second');
    expect((await command(webhook, 'purge', 'doc')).stdout).toMatch(/erased \d+ former versions/);
    expect(await value()).toBe('second');
    expect(await command(webhook, 'restore', 'doc')).toMatchObject({ code: 1 });
  });
});

describe('a record that a compromised control plane replaces repeatedly', () => {
  it('is brought back by the number of its version', async () => {
    const webhook = await bound();
    await webhook.store('doc', PLAIN);
    for (const value of ['evil', 'more evil']) await webhook.store('doc', { ...PLAIN, value });
    await webhook.storage({ op: 'tokens.delete', serviceName: 'doc' });
    expect(await command(webhook, 'restore', 'doc', '9')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('kept are 3, 2, 1'),
    });
    expect(await command(webhook, 'restore', 'doc', 'first')).toMatchObject({ code: 1 });
    expect(await command(webhook, 'restore', 'doc', '1')).toMatchObject({ code: 0 });
    expect((await webhook.credential('doc')).json.token.accessToken).toBe('first');
    expect(await command(webhook, 'restore', 'doc', '1', '2')).toMatchObject({ code: 2 });
  });
});

describe('audit export', () => {
  it('writes every entry as a line of JSON and the verdict as the last, also behind a break', async () => {
    const webhook = await bound();
    for (let count = 0; count < 4; count += 1) await webhook.store('doc', PLAIN);
    const entriesOf = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    const whole = await command(webhook, 'audit', 'export');
    const entries = entriesOf(whole.stdout);
    const end = entries.pop();
    expect([whole.code, end?.['verdict']]).toEqual([
      0,
      expect.objectContaining({ ok: true, entries: entries.length }),
    ]);
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, at) => at + 1));
    expect(entries.at(-1)).toMatchObject({
      source: 'webhook',
      eventType: 'CREDENTIAL_STORED',
      detail: { version: 4 },
    });
    expect(whole.stdout).not.toContain(PLAIN.value);
    await webhook.stop();
    const db = new Database(join(webhook.dataDir, 'webhook.db'));
    db.exec(`UPDATE audit_log SET detail = '{"version":' WHERE seq = 3`);
    db.close();
    const broken = await command(webhook, 'audit', 'export');
    expect([broken.code, entriesOf(broken.stdout).at(-1)?.['verdict']]).toEqual([
      1,
      expect.objectContaining({ ok: false, seq: 3, problem: 'this entry was changed' }),
    ]);
    expect(entriesOf(broken.stdout)).toHaveLength(entries.length + 1);
    expect(entriesOf(broken.stdout)[2]).toMatchObject({ detail: { unreadable: '{"version":' } });
  });
});

describe('audit verify', () => {
  async function verifyAfter(sql: string): Promise<{ code: number | null; stdout: string }> {
    const webhook = await bound();
    for (let count = 0; count < 4; count += 1) await webhook.store('doc', PLAIN);
    expect(await command(webhook, 'audit', 'verify')).toMatchObject({ code: 0 });
    await webhook.stop();
    const db = new Database(join(webhook.dataDir, 'webhook.db'));
    db.exec(sql);
    db.close();
    return command(webhook, 'audit', 'verify');
  }

  it.each([
    ['a changed entry', `UPDATE audit_log SET outcome = 'denied' WHERE seq = 3`, /seq 3: .*changed/],
    ['a missing entry', 'DELETE FROM audit_log WHERE seq = 3', /seq 3: .*missing/],
    ['a missing first entry', 'DELETE FROM audit_log WHERE seq = 1', /seq 1: .*missing/],
    ['missing last entries', 'DELETE FROM audit_log WHERE seq > 4', /missing at the end/],
    [
      'entries in another order',
      'UPDATE audit_log SET row = 99 WHERE row = 2; UPDATE audit_log SET row = 2 WHERE row = 3; UPDATE audit_log SET row = 3 WHERE row = 99',
      /seq 2: .*out of order/,
    ],
    [
      'an added entry',
      `INSERT INTO audit_log SELECT 99, epoch, 7, hash, source, 'x', event_type, timestamp, outcome, agent_id, proxy_id, user_id, service_name, count, detail FROM audit_log WHERE seq = 6`,
      /seq \d+: /,
    ],
  ])('finds %s', async (_what, sql, problem) => {
    const { code, stdout } = await verifyAfter(sql);
    expect(code).toBe(1);
    expect(stdout).toMatch(problem);
  });
});

describe('backup and restore-backup', () => {
  it('restore everything into an empty folder, in a new epoch that rejects earlier requests', async () => {
    const log = new LogSink();
    const logger = createLogger({ name: 'webhook', level: 'warn', format: 'json', destination: log });
    const webhook = await webhookOfTest({ clock: new ManualClock(Date.now()), logger });
    await webhook.store('doc', PLAIN);
    const dir = tempDir();
    onTestFinished(() => dir.remove());
    const file = join(dir.path, 'backup.db');
    expect(await command(webhook, 'backup', file)).toMatchObject({ code: 0 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await command(webhook, 'backup', file)).toMatchObject({ code: 1 });
    const { head: former } = (await webhook.storage({ op: 'audit.list' })).json;

    const intoFull = await command(webhook, 'restore-backup', file);
    expect(intoFull.stderr).toMatch(/not empty/);
    const elsewhere = { ...webhook.env, SV_WEBHOOK_DATA_DIR: join(dir.path, 'new') };
    const wrong = await command(
      { env: { ...elsewhere, SV_WEBHOOK_MASTER_KEY: newKey() } },
      'restore-backup',
      file,
    );
    expect(wrong.stderr).toMatch(/does not open this backup/);
    expect(readdirSync(dir.path)).toEqual(['backup.db']);
    const restoring = await command({ env: elsewhere }, 'restore-backup', file);
    expect(restoring).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Restored the backup of .*\nDeliveries resume at \d\d:\d\d:\d\d UTC\.\n/),
    });

    await webhook.restart({ SV_WEBHOOK_DATA_DIR: join(dir.path, 'new') });
    const [, resumeAt] = /at (\S+) UTC/.exec(restoring.stdout) ?? [];
    expect(log.text).toMatch(new RegExp(`"until":"[^"]+T${resumeAt}\\.000Z".*until deliveries resume`));
    expect((await webhook.credential('doc')).json.code).toBe('TICKET_INVALID');
    expect((await webhook.signed('/v1/health')).json.code).toBe('SIGNATURE_INVALID');
    webhook.clock.advance(120_000);
    expect((await webhook.credential('doc')).json.token.accessToken).toBe('first');
    const { head, items } = (await webhook.storage({ op: 'audit.list' })).json;
    expect(head.epoch).not.toBe(former.epoch);
    const opening = items.find(
      (item: { seq: number; eventType: string }) => item.eventType === 'BACKUP_RESTORED',
    );
    expect(opening).toMatchObject({ seq: 1, source: 'webhook', detail: { former } });
    expect(await command(webhook, 'audit', 'verify')).toMatchObject({ code: 0 });
  });
});

it('commands other than serve create no vault', async () => {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  const webhook = await bound();
  const env = { ...webhook.env, SV_WEBHOOK_DATA_DIR: join(dir.path, 'none') };
  for (const args of [
    ['audit', 'verify'],
    ['purge', 'x'],
    ['backup', join(dir.path, 'b')],
  ])
    expect((await command({ env }, ...args)).stderr).toMatch(/there is no vault/);
  expect(readdirSync(dir.path)).toEqual([]);
});
