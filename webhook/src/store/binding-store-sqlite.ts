import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import {
  type BindingStore,
  type KeyState,
  type StoredBinding,
  type StoredCode,
  type StoredKey,
  codePurpose,
  keyPurpose,
} from '../binding/binding-store.ts';
import type { Rewrappable } from '../vault/rewrappable.ts';

interface BindingRow {
  readonly webhook_id: string;
  readonly service_base_url: string;
  readonly vault_id: string;
  readonly complete: number;
}

interface KeyRow {
  readonly row: number;
  readonly id: string;
  readonly state: KeyState;
  readonly secret: Uint8Array;
  readonly valid_until: number | null;
}

interface CodeRow {
  readonly code_hash: Uint8Array;
  readonly expires_at: number;
  readonly state: StoredCode['state'];
  readonly secret: Uint8Array | null;
}

type LiveCodeRow = Pick<CodeRow, 'code_hash'> & { readonly secret: Uint8Array };

/** The binding in SQLite. Secrets arrive and leave wrapped. */
export function createBindingStore(db: SqliteDatabase): BindingStore {
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const readBinding = db.prepare<[], BindingRow>('SELECT * FROM binding');
  const readKeys = db.prepare<[], KeyRow>('SELECT * FROM binding_keys ORDER BY row');
  const readKeyState = db
    .prepare<[string], KeyState>('SELECT state FROM binding_keys WHERE id = (SELECT ?)')
    .pluck();
  const readCode = db.prepare<[], CodeRow>('SELECT * FROM binding_code');
  const readSetupToken = db.prepare<[], Uint8Array>('SELECT hash FROM setup_token').pluck();

  const putCode = db.prepare<[Uint8Array, number, Uint8Array]>(
    `INSERT OR REPLACE INTO binding_code (row, code_hash, expires_at, state, secret) VALUES (1, ?, ?, 'live', ?)`,
  );
  const endCode = db.prepare<[string]>(
    `UPDATE binding_code SET state = ?, secret = NULL WHERE state = 'live'`,
  );
  const putBinding = db.prepare<[string, string, string]>(
    'INSERT INTO binding (one, webhook_id, service_base_url, vault_id, complete) VALUES (1, ?, ?, ?, 0)',
  );
  const completeBinding = db.prepare('UPDATE binding SET complete = 1');
  const putPendingKey = db.prepare<[string, Uint8Array]>(
    `INSERT INTO binding_keys (id, state, secret) VALUES (?, 'pending', ?)`,
  );
  const eraseKey = db.prepare<[KeyState]>('DELETE FROM binding_keys WHERE state = ?');
  const retireCurrent = db.prepare<[number]>(
    `UPDATE binding_keys SET state = 'former', valid_until = ? WHERE state = 'current'`,
  );
  const promotePending = db.prepare(`UPDATE binding_keys SET state = 'current' WHERE state = 'pending'`);
  const eraseAllKeys = db.prepare('DELETE FROM binding_keys');
  const eraseBinding = db.prepare('DELETE FROM binding');
  const eraseCode = db.prepare('DELETE FROM binding_code');
  const putSetupToken = db.prepare<[Uint8Array]>(
    'INSERT OR REPLACE INTO setup_token (one, hash) VALUES (1, ?)',
  );

  // `data_version` tells of commits by other connections alone, so own writes count for themselves. A write that
  // is rolled back counts too: one reading too many costs nothing.
  let mark = 0;
  let seenVersion: number | undefined;
  const changing =
    <A extends readonly unknown[]>(write: (...given: A) => void) =>
    (...given: A): void => {
      mark += 1;
      write(...given);
    };
  const eraseBindingAndKeys = (): void => {
    eraseAllKeys.run();
    eraseBinding.run();
  };

  return {
    changeMark: () => {
      const version = dataVersion.get();
      if (version !== seenVersion) mark += 1;
      seenVersion = version;
      return mark;
    },
    binding: () => toBinding(readBinding.get()),
    keys: () => readKeys.all().map(toKey),
    keyState: (keyId) => readKeyState.get(keyId),
    code: () => toCode(readCode.get()),
    setupTokenHash: () => readSetupToken.get(),

    putCode: changing((code) => void putCode.run(code.codeHash, code.expiresAtMs, code.wrappedSecret)),
    endCode: changing((state) => void endCode.run(state)),
    startBinding: changing((binding, key) => {
      eraseBindingAndKeys();
      putBinding.run(binding.webhookId, binding.serviceBaseUrl, binding.vaultId);
      putPendingKey.run(key.id, key.wrappedSecret);
    }),
    putPendingKey: changing((key) => {
      eraseKey.run('pending');
      putPendingKey.run(key.id, key.wrappedSecret);
    }),
    activatePendingKey: changing((formerUntilMs) => {
      eraseKey.run('former');
      retireCurrent.run(formerUntilMs);
      promotePending.run();
      completeBinding.run();
    }),
    eraseFormerKey: changing(() => void eraseKey.run('former')),
    erase: changing(() => {
      eraseBindingAndKeys();
      eraseCode.run();
    }),
    putSetupTokenHash: changing((hash) => void putSetupToken.run(hash)),
  };
}

/** The wrapped keys of the binding, for a rotation of the master key. */
export function createBindingKeysRewrap(db: SqliteDatabase): Rewrappable {
  const next = db.prepare<[number, number], KeyRow>(
    'SELECT * FROM binding_keys WHERE row > ? ORDER BY row LIMIT ?',
  );
  const move = db.prepare<[Uint8Array, number]>('UPDATE binding_keys SET secret = ? WHERE row = ?');
  return {
    rewrap: (rewrap, after, limit) => {
      const rows = next.all(after, limit);
      for (const { row, id, secret } of rows) {
        const moved = rewrap(secret, keyPurpose(id));
        if (moved !== undefined) move.run(moved, row);
      }
      return rows.at(-1)?.row;
    },
  };
}

/** The wrapped secret of a live code, for a rotation of the master key. */
export function createBindingCodeRewrap(db: SqliteDatabase): Rewrappable {
  const live = db.prepare<[], LiveCodeRow>(`SELECT code_hash, secret FROM binding_code WHERE state = 'live'`);
  const move = db.prepare<[Uint8Array]>(`UPDATE binding_code SET secret = ? WHERE state = 'live'`);
  return {
    rewrap: (rewrap, after) => {
      const code = after === 0 ? live.get() : undefined;
      if (code === undefined) return undefined;
      const moved = rewrap(code.secret, codePurpose(code.code_hash));
      if (moved !== undefined) move.run(moved);
      return 1;
    },
  };
}

function toBinding(row: BindingRow | undefined): StoredBinding | undefined {
  if (row === undefined) return undefined;
  return {
    webhookId: row.webhook_id,
    serviceBaseUrl: row.service_base_url,
    vaultId: row.vault_id,
    complete: row.complete === 1,
  };
}

function toKey(row: KeyRow): StoredKey {
  return {
    id: row.id,
    state: row.state,
    wrappedSecret: row.secret,
    validUntilMs: row.valid_until ?? undefined,
  };
}

function toCode(row: CodeRow | undefined): StoredCode | undefined {
  if (row === undefined) return undefined;
  return {
    codeHash: row.code_hash,
    expiresAtMs: row.expires_at,
    state: row.state,
    wrappedSecret: row.secret ?? undefined,
  };
}
