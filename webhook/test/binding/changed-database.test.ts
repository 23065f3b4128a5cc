import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { ManualClock, sha256, toBase64url, utf8 } from '@svault/shared';
import { type BoundWebhook, webhookOfTest } from '../support/bound-webhook.ts';
import { type WebhookFixture, fixtureOfTest, keyOf, postForm } from '../support/webhook-fixture.ts';
import { command } from '../support/run-webhook.ts';

const bound = (): Promise<BoundWebhook> => webhookOfTest({ clock: new ManualClock(Date.now()) });
const unbound = (): Promise<WebhookFixture> =>
  fixtureOfTest({ clock: new ManualClock(Date.now()), env: { SV_WEBHOOK_SETUP_TOKEN: '' } });

function write(dataDir: string, sql: string): void {
  const db = new Database(join(dataDir, 'webhook.db'));
  db.exec(sql);
  db.close();
}

/** Every row of the tables of the binding, as somebody copies them. */
function copyRows(dataDir: string, tables: readonly string[]): () => void {
  const db = new Database(join(dataDir, 'webhook.db'));
  const kept = tables.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).raw().all()] as const);
  db.close();
  return () => {
    const to = new Database(join(dataDir, 'webhook.db'));
    for (const [table, rows] of kept) {
      to.exec(`DELETE FROM ${table}`);
      for (const row of rows as unknown[][])
        to.prepare(`INSERT INTO ${table} VALUES (${row.map(() => '?').join(', ')})`).run(...row);
    }
    to.close();
  };
}

const token = toBase64url(randomBytes(32));
const hash = Buffer.from(sha256(utf8(token))).toString('hex');
const BINDING_TABLES = ['binding', 'binding_keys', 'binding_code', 'setup_token'];

describe('an attacker who can write the webhook’s database, without its root key,', () => {
  it('cannot bind by inserting a setup token', async () => {
    const fixture = await unbound();
    fixture.query(`UPDATE setup_token SET hash = x'${hash}'`);
    const answer = await postForm(fixture.send, { setup_token: token });
    expect([answer.status, answer.text]).toEqual([503, expect.stringContaining('changed outside')]);
    expect((await fixture.send({ path: '/readyz' })).status).toBe(503);
    const link = await command(fixture, 'bind-link');
    expect([link.code, link.stderr]).toEqual([1, expect.stringContaining('run unseal-bind')]);
  });

  it('cannot bind by removing what authenticates the rows', async () => {
    const fixture = await unbound();
    fixture.query(`UPDATE setup_token SET hash = x'${hash}'`);
    fixture.query('DELETE FROM binding_state');
    expect((await postForm(fixture.send, { setup_token: token })).status).toBe(503);
  });

  it.each([
    ['an address of another service', `UPDATE binding SET service_base_url = 'https://evil.test'`],
    ['another id of the webhook', `UPDATE binding SET webhook_id = 'whk_AAAAAAAAAAAAAAAAAAAAAA'`],
    ['an open bind page', 'UPDATE binding SET complete = 0'],
    ['a key in another state', `UPDATE binding_keys SET state = 'former', valid_until = 9999999999999`],
    ['no keys', 'DELETE FROM binding_keys'],
    ['no binding', 'DELETE FROM binding'],
    ['a set-up token', `INSERT OR REPLACE INTO setup_token (one, hash) VALUES (1, x'${hash}')`],
    ['an earlier generation', 'UPDATE binding_state SET generation = generation - 1'],
    ['no mark of a restore', 'UPDATE binding_state SET restored = 1 - restored'],
  ])('cannot insert %s, neither while the webhook runs nor before it starts', async (_what, sql) => {
    const webhook = await bound();
    await webhook.store('doc', { tokenType: 'PlainText', value: 'kept' });
    write(webhook.dataDir, sql);
    expect((await webhook.credential('doc')).status).toBe(503);
    expect((await webhook.signed('/v1/health')).json.code).toBe('UNAVAILABLE');
    await webhook.stop();
    await expect(webhook.restart()).rejects.toThrow(/changed outside this program.*unseal-bind/s);
  });

  it('cannot enable a former key by restoring all rows of the binding, while the webhook runs', async () => {
    const webhook = await bound();
    const putBack = copyRows(webhook.dataDir, [...BINDING_TABLES, 'binding_state']);
    const rotated = await webhook.signed('/v1/exchange', { op: 'rotate' });
    expect(rotated.status).toBe(200);
    putBack();
    expect((await webhook.signed('/v1/health')).status).toBe(503);
  });

  it('cannot enable a former key by restoring its row, even across a restart', async () => {
    const fixture = await fixtureOfTest({ clock: new ManualClock(Date.now()) });
    const { key: first } = await fixture.bind();
    const putBack = copyRows(fixture.folder, BINDING_TABLES);
    const rotated = await fixture.sendSigned({
      path: '/v1/exchange',
      body: { op: 'rotate' },
      key: first,
    });
    const second = keyOf(rotated.json);
    expect((await fixture.sendSigned({ key: second })).status).toBe(200);
    putBack();
    expect((await fixture.sendSigned({ key: first })).status).toBe(503);
    await expect(fixture.restart()).rejects.toThrow(/changed outside this program/);
  });

  it('cannot make a former version of a record the live one', async () => {
    const webhook = await bound();
    await webhook.store('doc', {
      tokenType: 'PlainText',
      value: 'the former credential',
      allowedHosts: ['old.test'],
    });
    await webhook.store('doc', {
      tokenType: 'PlainText',
      value: 'the latest credential',
      allowedHosts: ['new.test'],
    });
    write(
      webhook.dataDir,
      `UPDATE records SET retired_at = 1 WHERE version = 2; UPDATE records SET retired_at = NULL WHERE version = 1`,
    );
    const answer = await webhook.credential('doc');
    expect([answer.status, answer.text.includes('former')]).toEqual([500, false]);
  });

  it('cannot swap two records between their names', async () => {
    const webhook = await bound();
    await webhook.store('one', { tokenType: 'PlainText', value: 'first' });
    await webhook.store('two', { tokenType: 'PlainText', value: 'second' });
    write(
      webhook.dataDir,
      `UPDATE records SET service_name = 'three' WHERE service_name = 'one';
       UPDATE records SET service_name = 'one' WHERE service_name = 'two';
       UPDATE records SET service_name = 'two' WHERE service_name = 'three'`,
    );
    for (const name of ['one', 'two']) expect((await webhook.credential(name)).status).toBe(500);
  });
});

describe('unseal-bind', () => {
  it('erases rows of other origin, and the webhook is bound again with the token that it prints', async () => {
    const fixture = await unbound();
    fixture.query(`UPDATE setup_token SET hash = x'${hash}'`);
    const { code, stdout } = await command(fixture, 'unseal-bind');
    expect(code).toBe(0);
    expect((await postForm(fixture.send, { setup_token: token })).status).toBe(403);
    const fresh = /^[A-Za-z0-9_-]{43}$/m.exec(stdout)![0];
    expect((await postForm(fixture.send, { setup_token: fresh })).status).toBe(200);
  });
});

describe('a rotation of the root key', () => {
  it('authenticates the binding with the new key, while the webhook runs', async () => {
    const webhook = await bound();
    const next = toBase64url(randomBytes(32));
    const rotating = { ...webhook.env, SV_WEBHOOK_MASTER_KEY_NEXT: next };
    expect(await command({ env: rotating }, 'rotate-master-key')).toMatchObject({ code: 0 });
    expect((await webhook.signed('/v1/health')).status).toBe(200);
    await webhook.restart({ SV_WEBHOOK_MASTER_KEY: next });
    expect((await webhook.signed('/v1/health')).status).toBe(200);
    write(webhook.dataDir, 'UPDATE binding SET complete = 0');
    expect((await webhook.signed('/v1/health')).status).toBe(503);
  });
});
