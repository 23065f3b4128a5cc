import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBackup } from './backup-file.ts';
import { backupSqlite } from './sqlite-backup.ts';
import { type Migration, type SqliteDatabase, openPlain, openSqlite } from './sqlite.ts';

const migrations: readonly Migration[] = [
  {
    ...{ id: 1, name: 'items', phase: 'expand' },
    sql: 'CREATE TABLE items (id INTEGER PRIMARY KEY, body BLOB) STRICT',
  },
];
const SEAL = { program: 'webhook', masterKey: randomBytes(32), madeAt: '2026-11-22T12:00:00Z' } as const;
/** Over several pieces of 1 MiB and chunks of age. */
const BODY = randomBytes(3_300_000);
/** Commits, of which a copy of this database takes a few. */
const MANY = 20_000;

let dir: string;
let backups: string;
let file: string;
let db: SqliteDatabase;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svault-backup-'));
  backups = join(dir, 'backups');
  mkdirSync(backups);
  file = join(backups, 'a.backup');
  db = openSqlite(join(dir, 'a.db'), { migrations });
  db.prepare('INSERT INTO items (body) VALUES (?)').run(BODY);
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true });
});

/** Made by age itself. */
function identity(name: string): { readonly path: string; readonly recipient: string } {
  const path = join(dir, name);
  execFileSync('age-keygen', ['-o', path], { stdio: 'ignore' });
  return { path, recipient: execFileSync('age-keygen', ['-y', path], { encoding: 'utf8' }).trim() };
}

const open = (backup: string, identityFile?: string) =>
  openBackup(backup, join(dir, 'restored.db'), {
    program: 'webhook',
    masterKeys: () => Promise.resolve([SEAL.masterKey]),
    identityFile,
    whereToGiveKey: 'as SV_WEBHOOK_MASTER_KEY',
  });

function bodyOf(path: string): unknown {
  const copy = openPlain(path);
  try {
    return copy.prepare('SELECT body FROM items').pluck().get();
  } finally {
    copy.close();
  }
}

describe('backupSqlite', () => {
  it('copies a live database and never overwrites a file', async () => {
    await backupSqlite(db, file, SEAL);
    expect(bodyOf(file)).toEqual(BODY);
    await expect(backupSqlite(db, file, SEAL)).rejects.toThrow(/exists already/);
  });

  it('comes to its end while another process commits all the time', async () => {
    const other = openSqlite(join(dir, 'a.db'), { migrations });
    let [ended, commits] = [false, 0];
    const backup = backupSqlite(db, file, SEAL).finally(() => (ended = true));
    const insert = other.prepare("INSERT INTO items (body) VALUES (x'00')");
    while (!ended && commits < MANY) {
      insert.run();
      commits += 1;
      await nextTurn();
    }
    await backup;
    other.close();
    expect(commits).toBeLessThan(MANY);
    expect(await open(file)).toMatchObject({ program: 'webhook' });
  });

  it('is made once at a time of one database', async () => {
    const first = backupSqlite(db, file, SEAL);
    const second = backupSqlite(db, join(backups, 'b.backup'), SEAL);
    await expect(second).rejects.toThrow(/another backup of .*a\.db is being made/);
    await first;
    expect(readdirSync(backups)).toEqual(['a.backup']);
  });

  it('is not made of a damaged database', async () => {
    db.exec('CREATE INDEX lengths ON items (length(body)); PRAGMA wal_checkpoint(TRUNCATE)');
    const root = db
      .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'lengths'")
      .pluck()
      .get() as number;
    db.close();
    const bytes = readFileSync(join(dir, 'a.db'));
    // The page of the index becomes one without entries.
    bytes.fill(0, (root - 1) * 4_096 + 3, (root - 1) * 4_096 + 5);
    writeFileSync(join(dir, 'a.db'), bytes);
    db = openSqlite(join(dir, 'a.db'), { migrations });
    await expect(backupSqlite(db, file, SEAL)).rejects.toThrow(/SQLite finds the database inconsistent/);
    expect(readdirSync(backups)).toEqual([]);
  });

  it.each([[[]], [['a recipient']]])('removes what a killed one left, with recipients %j', async (wanted) => {
    const recipients = wanted.map((name) => identity(name).recipient);
    for (const left of [`${file}.partial`, `${file}.partial-wal`, join(dir, 'a.db.backup')])
      writeFileSync(left, 'half');
    await backupSqlite(db, file, { ...SEAL, recipients });
    expect(readdirSync(backups)).toEqual(['a.backup']);
    if (recipients.length > 0) expect(readdirSync(dir)).not.toContain('a.db.backup');
  });
});

describe('a backup for recipients of age', () => {
  it('opens by age itself, and by the identity of each recipient', async () => {
    const [first, second] = [identity('first'), identity('second')];
    await backupSqlite(db, file, { ...SEAL, recipients: [first.recipient, second.recipient] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file).includes('SQLite format 3')).toBe(false);
    expect(readdirSync(dir).filter((name) => name.startsWith('a.db.backup'))).toEqual(['a.db.backup-lock']);
    const byAge = join(dir, 'by-age');
    execFileSync('age', ['-d', '-i', first.path, '-o', byAge, file]);
    for (const [backup, identityFile] of [[byAge], [file, second.path]] as const) {
      expect(await open(backup, identityFile)).toMatchObject({ madeAt: SEAL.madeAt });
      expect(bodyOf(join(dir, 'restored.db'))).toEqual(BODY);
    }
  });

  it('that age itself encrypted opens too', async () => {
    const { path, recipient } = identity('identity');
    await backupSqlite(db, file, SEAL);
    execFileSync('age', ['-r', recipient, '-o', `${file}.age`, file]);
    expect(await open(`${file}.age`, path)).toMatchObject({ madeAt: SEAL.madeAt });
  });

  it('is not made for a misspelt recipient', async () => {
    const { recipient } = identity('identity');
    const misspelt = recipient.slice(0, -1) + (recipient.endsWith('q') ? 'p' : 'q');
    const making = backupSqlite(db, file, { ...SEAL, recipients: [recipient, misspelt] });
    await expect(making).rejects.toThrow(`SV_BACKUP_RECIPIENTS: ${misspelt} is no recipient that age knows`);
    expect(readdirSync(backups)).toEqual([]);
  });

  it('is rejected without its identity, cut, extended or changed, and nothing is restored', async () => {
    const { path, recipient } = identity('identity');
    await backupSqlite(db, file, { ...SEAL, recipients: [recipient] });
    const other = identity('other');
    writeFileSync(join(dir, 'comments'), '# nothing else\n\n');
    writeFileSync(join(dir, 'plugin'), 'AGE-PLUGIN-YUBIKEY-1QQPQ5Q5ZQHHQ4JQ\n');
    const whole = readFileSync(file);
    const changed = Buffer.from(whole);
    changed[whole.length - 1_000_000]! ^= 1;
    const cases: readonly (readonly [Buffer, string | undefined, RegExp])[] = [
      [whole, undefined, /is encrypted: name the file of the age identity/],
      [whole, other.path, /does not open/],
      [whole, join(dir, 'none'), /the identity file .* cannot be read: ENOENT/],
      [whole, join(dir, 'comments'), /holds no identity of age/],
      [whole, join(dir, 'plugin'), /holds no identity that is known here: decrypt the backup by `age -d/],
      [whole.subarray(0, -1), path, /was cut or changed/],
      [whole.subarray(0, 100), path, /does not open/],
      // A whole chunk fewer: the flag of the last one is missing.
      [whole.subarray(0, whole.length - (whole.length % 65_552)), path, /was cut or changed/],
      [Buffer.concat([whole, Buffer.of(0)]), path, /was cut or changed/],
      [changed, path, /was cut or changed/],
    ];
    for (const [bytes, identityFile, problem] of cases) {
      writeFileSync(file, bytes);
      await expect(open(file, identityFile)).rejects.toThrow(problem);
      expect(readdirSync(dir).filter((name) => name.startsWith('restored'))).toEqual([]);
    }
    expect(existsSync(file)).toBe(true);
  });
});
