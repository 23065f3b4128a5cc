import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { backupSqlite } from '@svault/server-kit/sqlite-backup';
import { ManualClock, sha256, toBase64url, utf8 } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type WebhookFixture, fixtureOfTest, postForm } from '../support/webhook-fixture.ts';
import { type Finished, command } from '../support/run-webhook.ts';

/** On the real time of day, since a restore is a moment of it. */
const fixture = (env: NodeJS.ProcessEnv = { SV_WEBHOOK_SETUP_TOKEN: '' }): Promise<WebhookFixture> =>
  fixtureOfTest({ clock: new ManualClock(Date.now()), env });

function folder(): string {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  return dir.path;
}

async function backupOf({ env }: Pick<WebhookFixture, 'env'>): Promise<string> {
  const file = join(folder(), 'webhook.backup');
  expect(await command({ env }, 'backup', file)).toMatchObject({ code: 0 });
  return file;
}

/** Restores into a new folder and says what came of it. */
async function restored(
  env: NodeJS.ProcessEnv,
  file: string,
): Promise<Finished & { readonly env: NodeJS.ProcessEnv; readonly wrote: boolean }> {
  const there = { ...env, SV_WEBHOOK_DATA_DIR: join(folder(), 'restored') };
  const finished = await command({ env: there }, 'restore-backup', file);
  return { ...finished, env: there, wrote: existsSync(there.SV_WEBHOOK_DATA_DIR) };
}

/** A webhook on restored data. */
async function serve(env: NodeJS.ProcessEnv): Promise<WebhookFixture> {
  return fixture({ SV_WEBHOOK_SETUP_TOKEN: '', SV_WEBHOOK_DATA_DIR: env['SV_WEBHOOK_DATA_DIR'] });
}

/** Writes to the SQLite file inside a backup as its thief does, and leaves the trailer as it is. */
function changeRows(file: string, sql: string): void {
  const bytes = readFileSync(file);
  const db = new Database(file);
  db.pragma('journal_mode = DELETE');
  db.exec(sql);
  db.close();
  const trailer = bytes.subarray(bytes.lastIndexOf('{"program":'));
  writeFileSync(file, Buffer.concat([readFileSync(file), trailer]));
}

const setupToken = toBase64url(randomBytes(32));
const OWN_SETUP_TOKEN = `
  INSERT OR REPLACE INTO setup_token (one, hash) VALUES (1, x'${Buffer.from(sha256(utf8(setupToken))).toString('hex')}');
  DELETE FROM binding; DELETE FROM binding_keys; DELETE FROM binding_code;`;

describe('a backup that an attacker can write to', () => {
  it('is rejected by restore-backup after its setup token was replaced and its binding removed', async () => {
    const source = await fixture({});
    await source.bind();
    const file = await backupOf(source);
    changeRows(file, OWN_SETUP_TOKEN);
    const result = await restored(source.env, file);
    expect([result.code, result.wrote]).toEqual([1, false]);
    expect(result.stderr).toMatch(/was cut or extended|was changed since the backup was made/);
  });

  it('is rejected with any byte changed, and nothing is written', async () => {
    const source = await fixture();
    const file = await backupOf(source);
    const whole = readFileSync(file);
    const trailerAt = whole.lastIndexOf('{"program":');
    const places = [0, 100, 5_000, trailerAt - 1];
    for (let at = trailerAt; at < whole.length; at += 1) places.push(at);
    for (const at of places) {
      const changed = Buffer.from(whole);
      changed[at] = changed[at]! ^ 1;
      writeFileSync(file, changed);
      const { code, stderr, wrote } = await restored(source.env, file);
      expect([at, code, wrote, stderr]).toEqual([at, 1, false, expect.stringMatching(/backup/)]);
    }
    writeFileSync(file, whole);
    expect(await restored(source.env, file)).toMatchObject({ code: 0, wrote: true });
  });

  it.each([
    ['cut by a byte', (whole: Buffer) => whole.subarray(0, -1), /no whole backup/],
    [
      'cut by a page inside',
      (whole: Buffer) => Buffer.concat([whole.subarray(0, 4_096), whole.subarray(8_192)]),
      /no whole backup/,
    ],
    ['longer by a byte', (whole: Buffer) => Buffer.concat([whole, Buffer.of(0)]), /no whole backup/],
    [
      'longer by a page inside',
      (whole: Buffer) => Buffer.concat([whole.subarray(0, 4_096), whole]),
      /no whole backup/,
    ],
    ['empty', () => Buffer.alloc(0), /no whole backup/],
    [
      'without its trailer',
      (whole: Buffer) => whole.subarray(0, whole.lastIndexOf('{"program":')),
      /no whole backup/,
    ],
  ])('is rejected if it is %s', async (_what, change, problem) => {
    const source = await fixture();
    const file = await backupOf(source);
    writeFileSync(file, change(readFileSync(file)));
    const { code, stderr, wrote } = await restored(source.env, file);
    expect([code, wrote, stderr]).toEqual([1, false, expect.stringMatching(problem)]);
  });

  it('is rejected as one of the control plane, even under the same root key', async () => {
    const source = await fixture();
    const file = join(folder(), 'control-plane.backup');
    const db = new Database(join(source.folder, 'webhook.db'));
    const masterKey = Buffer.from(source.env['SV_WEBHOOK_MASTER_KEY']!, 'base64url');
    await backupSqlite(db, file, { program: 'control-plane', masterKey, madeAt: '2026-11-22T12:00:00Z' });
    db.close();
    const { code, stderr, wrote } = await restored(source.env, file);
    expect([code, wrote]).toEqual([1, false]);
    expect(stderr).toContain('is a backup of the control-plane, not of the webhook');
  });

  it('starts no key derivation whose cost the file sets', async () => {
    const source = await fixture();
    const file = await backupOf(source);
    const derivation = { salt: toBase64url(randomBytes(16)), memoryKiB: 4_000_000_000, passes: 1, lanes: 1 };
    writeFileSync(file, withTrailer(readFileSync(file), { derivation }, randomBytes(32)));
    const env = { ...source.env, SV_WEBHOOK_MASTER_KEY: '', SV_WEBHOOK_PASSPHRASE: 'correct horse battery' };
    const { code, stderr, wrote } = await restored(env, file);
    expect([code, wrote, stderr]).toEqual([1, false, expect.stringContaining('its key derivation is none')]);
  });
});

describe('the format of a backup', () => {
  it('is SQLite, a trailer and an HMAC with a key derived by HKDF, as backup-file.ts describes', async () => {
    const source = await fixture();
    const file = await backupOf(source);
    const masterKey = Buffer.from(source.env['SV_WEBHOOK_MASTER_KEY']!, 'base64url');
    const made = readFileSync(file);
    expect(made.subarray(0, 15).toString()).toBe('SQLite format 3');
    writeFileSync(file, withTrailer(made, {}, masterKey));
    expect(await restored(source.env, file)).toMatchObject({ code: 0 });
  });
});

describe('a restored webhook', () => {
  it('accepts no earlier setup token, code or link, and can be bound again only after unseal-bind', async () => {
    const source = await fixture();
    const { stdout: open } = await command(source, 'bind-link');
    const file = await backupOf(source);
    const { env, code } = await restored(source.env, file);
    expect(code).toBe(0);

    const there = await serve(env);
    expect(there.webhook.firstSetupToken).toBeUndefined();
    const page = await postForm(there.send, { setup_token: source.webhook.firstSetupToken! });
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('unseal-bind')]);
    expect((await there.exchange(codeIn(open))).status).not.toBe(200);
    const link = await command({ env }, 'bind-link');
    expect([link.code, link.stderr]).toEqual([1, expect.stringContaining('run unseal-bind')]);

    const { stdout } = await command({ env }, 'unseal-bind');
    const fresh = /^[A-Za-z0-9_-]{43}$/m.exec(stdout)![0];
    there.clock.advance(120_000);
    expect((await postForm(there.send, { setup_token: source.webhook.firstSetupToken! })).status).toBe(403);
    expect((await postForm(there.send, { setup_token: fresh })).status).toBe(200);
  });

  it('does not accept the configured setup token either until unseal-bind has run', async () => {
    const source = await fixture({});
    const { env } = await restored(source.env, await backupOf(source));
    const there = await fixture({ SV_WEBHOOK_DATA_DIR: env['SV_WEBHOOK_DATA_DIR'] });
    const token = { setup_token: source.env['SV_WEBHOOK_SETUP_TOKEN']! };
    expect((await postForm(there.send, token)).status).toBe(403);
    expect((await command({ env }, 'unseal-bind')).code).toBe(0);
    expect((await postForm(there.send, token)).status).toBe(200);
  });

  it('continues with the binding of its backup', async () => {
    const source = await fixture({});
    const { key } = await source.bind();
    const { env } = await restored(source.env, await backupOf(source));
    const there = await fixture({ SV_WEBHOOK_DATA_DIR: env['SV_WEBHOOK_DATA_DIR'] });
    there.clock.advance(120_000);
    expect((await there.sendSigned({ key })).status).toBe(200);
  });
});

describe('a backup from before a rotation of the root key', () => {
  it('is restored with the former key, and not with the new one', async () => {
    const source = await fixture();
    const before = await backupOf(source);
    const next = toBase64url(randomBytes(32));
    const rotating = { ...source.env, SV_WEBHOOK_MASTER_KEY_NEXT: next };
    expect(await command({ env: rotating }, 'rotate-master-key')).toMatchObject({ code: 0 });
    const rotated = { ...source.env, SV_WEBHOOK_MASTER_KEY: next };
    const after = await backupOf({ env: rotated });
    expect(await restored(source.env, before)).toMatchObject({ code: 0 });
    expect(await restored(rotated, before)).toMatchObject({ code: 1, wrote: false });
    expect(await restored(rotated, after)).toMatchObject({ code: 0 });
    expect(await restored(source.env, after)).toMatchObject({ code: 1, wrote: false });
  });

  it('is rejected with the setting that names the file of the key, where the key comes from one', async () => {
    const source = await fixture();
    const file = await backupOf(source);
    const keyFile = join(folder(), 'root.key');
    writeFileSync(keyFile, toBase64url(randomBytes(32)), { mode: 0o600 });
    const other = { ...source.env, SV_WEBHOOK_MASTER_KEY: '', SV_WEBHOOK_MASTER_KEY_FILE: keyFile };
    expect(await restored(other, file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('in the file that SV_WEBHOOK_MASTER_KEY_FILE names'),
    });
  });
});

describe('a backup of a vault under a passphrase', () => {
  it('is restored with that passphrase, and with no other', async () => {
    const passphrase = { SV_WEBHOOK_MASTER_KEY: '', SV_WEBHOOK_PASSPHRASE: 'correct horse battery' };
    const source = await fixture({ ...passphrase, SV_WEBHOOK_SETUP_TOKEN: '' });
    const file = await backupOf(source);
    expect(await restored(source.env, file)).toMatchObject({ code: 0 });
    const other = { ...source.env, SV_WEBHOOK_PASSPHRASE: 'correct horse staple' };
    expect(await restored(other, file)).toMatchObject({
      code: 1,
      wrote: false,
      stderr: expect.stringContaining('does not open this backup'),
    });
  });
});

const codeIn = (text: string): string => /code=([0-9a-f-]{36})/.exec(text)![1]!;

/** Another trailer behind the same SQLite bytes, made by hand. */
function withTrailer(backup: Buffer, members: object, masterKey: Uint8Array): Buffer {
  const bytes = backup.subarray(0, backup.lastIndexOf('{"program":'));
  const salt = randomBytes(32);
  const keys = Buffer.from(hkdfSync('sha256', masterKey, salt, 'svault backup v1 webhook', 48));
  const trailer = Buffer.from(
    JSON.stringify({
      program: 'webhook',
      madeAt: '2026-11-22T12:00:00Z',
      bytes: bytes.length,
      salt: toBase64url(salt),
      check: toBase64url(keys.subarray(32)),
      ...members,
    }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32BE(trailer.length);
  const mac = createHmac('sha256', keys.subarray(0, 32))
    .update(bytes)
    .update(trailer)
    .update(length)
    .digest();
  return Buffer.concat([bytes, trailer, length, mac, Buffer.from('svault-backup-1\n')]);
}
