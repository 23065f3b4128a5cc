import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AeadFailed, aeadReady } from '@svault/server-kit/aead';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import { createMasterKeys } from '@svault/server-kit/master-keys';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { ManualClock, formatTime } from '@svault/shared';
import { createAuditLog } from '../audit/audit-log.ts';
import { createApprovalStore } from '../sqlite/approval-store.ts';
import { createAuditStore } from '../sqlite/audit-store.ts';
import { createRecordStore, createRefreshMarks } from '../sqlite/record-store.ts';
import { openVaultFile } from '../sqlite/vault-file.ts';
import { draftFrom } from './store-by-ticket.ts';
import { type Vault, createVault } from './vault.ts';

const DAY_MS = 24 * 3_600_000;
const options = { ifVersion: undefined, subject: { userId: 'usr_1' } };
const plain = (value: string) => draftFrom({ tokenType: 'PlainText', value });

let dir: string;
let db: SqliteDatabase;
let clock: ManualClock;
let vault: Vault;

beforeAll(aeadReady);
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svault-vault-'));
  db = openVaultFile(join(dir, 'webhook.db'), dir);
  clock = new ManualClock();
  const commit = createGroupCommit(db);
  const audit = createAuditLog({ store: createAuditStore(db), commit, clock });
  audit.startEpochNow({ eventType: 'LOG_STARTED', outcome: 'success' }, { restored: false });
  const keys = createMasterKeys([randomBytes(32)]);
  const [records, marks] = [createRecordStore(db), createRefreshMarks(db)];
  const approvals = createApprovalStore(db, keys);
  vault = createVault({ records, marks, approvals, keys, audit, commit, clock });
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true });
});

const value = (name: string): string | undefined => vault.open(name)?.secret.reveal().accessToken;
const stored = (): number => db.prepare<[], number>('SELECT count(*) FROM records').pluck().get()!;

describe('a page', () => {
  it('is read without the encrypted bodies, however large they are', async () => {
    await vault.put('a', plain('first'), options);
    const [head] = createRecordStore(db).page({ after: '', limit: 1, expiresBeforeMs: undefined });
    expect(head).toMatchObject({ serviceName: 'a', version: 1 });
    expect(head).not.toHaveProperty('body');
    expect(head).not.toHaveProperty('wrappedDataKey');
  });
});

describe('a record', () => {
  it('has the time of its first store and that of its last', async () => {
    const first = formatTime(clock.now());
    await vault.put('a', plain('first'), options);
    clock.advance(5_000);
    await vault.put('a', plain('second'), options);
    expect(vault.describe('a')).toMatchObject({
      version: 2,
      createdAt: first,
      updatedAt: formatTime(clock.now()),
    });
  });

  it.each([
    [{}, 'none', false],
    [{ clientSecret: 's' }, 'client_secret_basic', false],
    [{ mediated: true }, 'client_secret_basic', true],
    [{ mediated: true, authMethod: 'private_key_jwt' as const }, 'private_key_jwt', true],
  ])('of provider %j is refreshed by %s', (more, authMethod, mediated) => {
    const provider = { tokenUrl: 'https://p.test/t', clientId: 'c', ...more };
    const { settings } = draftFrom({ tokenType: 'JWT', accessToken: 'a', refreshToken: 'r', provider });
    expect(settings).toMatchObject({
      delivery: 'any',
      allowedHosts: [],
      hasRefreshToken: true,
      shareRefreshToken: false,
      provider: { authMethod, mediated },
    });
  });

  it('with an empty refresh token has none', () => {
    const { settings } = draftFrom({ tokenType: 'JWT', accessToken: 'a', refreshToken: '' });
    expect(settings).toMatchObject({ hasRefreshToken: false, shareRefreshToken: true, empty: false });
  });
});

describe('deletion', () => {
  it('requested twice concurrently succeeds twice, without a conflict in the log', async () => {
    await vault.put('a', plain('first'), options);
    expect(await Promise.all([vault.delete('a', 1), vault.delete('a', 1)])).toEqual([true, false]);
    const outcomes = db.prepare(`SELECT outcome FROM audit_log WHERE event_type = 'CREDENTIAL_DELETED'`);
    expect(outcomes.pluck().all()).toEqual(['success']);
  });

  it('of another version than the live one is a conflict, and deletes nothing', async () => {
    await vault.put('a', plain('first'), options);
    await expect(vault.delete('a', 2)).rejects.toMatchObject({ code: 'VERSION_CONFLICT' });
    expect(value('a')).toBe('first');
  });
});

describe('former versions', () => {
  it('are kept for 7 days and then erased', async () => {
    await vault.put('a', plain('first'), options);
    await vault.put('a', plain('second'), options);
    await vault.put('b', plain('other'), options);
    await vault.delete('b', undefined);
    clock.advance(7 * DAY_MS);
    expect(await vault.purgeExpired()).toBe(0);
    expect(stored()).toBe(3);
    clock.advance(1);
    expect(await vault.restore('b')).toBeUndefined();
    expect(await vault.purgeExpired()).toBe(2);
    expect([stored(), value('a')]).toEqual([1, 'second']);
  });

  it('leave no bytes in the file once they are erased', async () => {
    await vault.put('a', plain('first'), options);
    const former = db.prepare<[], Buffer>('SELECT body FROM records').pluck().get()!;
    await vault.put('a', plain('second'), options);
    expect(db.serialize().includes(former)).toBe(true);
    await vault.purge('a');
    expect(db.serialize().includes(former)).toBe(false);
  });

  it('are restored unchanged, whatever the clock did in the meantime', async () => {
    await vault.put('a', plain('first'), options);
    clock.jump(-DAY_MS);
    await vault.put('a', plain('second'), options);
    expect([await vault.restore('a'), value('a')]).toEqual([3, 'first']);
    clock.jump(-DAY_MS);
    expect([await vault.restore('a'), value('a')]).toEqual([4, 'second']);
    await vault.purge('a');
    expect([await vault.restore('a'), value('a'), stored()]).toEqual([undefined, 'second', 1]);
  });
});

describe('a stored record', () => {
  const SETTINGS = JSON.stringify({ ...plain('x').settings, delivery: 'any', allowedHosts: ['*'] });

  it.each([
    ['its settings are changed', `UPDATE records SET settings = '${SETTINGS}' WHERE service_name = 'a'`],
    ['its name is changed', `UPDATE records SET service_name = 'b' WHERE service_name = 'a'`],
    ['its version is changed', `UPDATE records SET version = 9 WHERE service_name = 'a'`],
    ['its age is changed', `UPDATE records SET created_at = 1 WHERE service_name = 'a'`],
    [
      'it is replaced by another record',
      `UPDATE records SET (data_key, body) = (SELECT data_key, body FROM records WHERE service_name = 'c') WHERE service_name = 'a'`,
    ],
  ])('is not decrypted if %s', async (_what, sql) => {
    await vault.put('a', draftFrom({ tokenType: 'PlainText', value: 'v', delivery: 'proxy-only' }), options);
    await vault.put('c', plain('w'), options);
    db.exec(sql);
    for (const name of ['a', 'b']) {
      try {
        expect(vault.open(name)).toBeUndefined();
      } catch (error) {
        expect(error).toBeInstanceOf(AeadFailed);
      }
    }
    expect(value('c')).toBe('w');
  });

  it('has a different key for each version, and never contains the secret', async () => {
    await vault.put('a', plain('the same secret'), options);
    await vault.put('a', plain('the same secret'), options);
    const rows = db
      .prepare<[], { data_key: Buffer; body: Buffer }>('SELECT data_key, body FROM records')
      .all();
    expect(new Set(rows.map(({ body }) => body.toString('hex'))).size).toBe(2);
    expect(db.serialize().includes('the same secret')).toBe(false);
  });
});
