import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import {
  type BindingStore,
  type KeyState,
  type SecretWrapper,
  bindingChanged,
  codePurpose,
  keyPurpose,
} from '../binding/binding-store.ts';
import type { Rewrappable } from '../vault/master-key-rotation.ts';
import {
  type BindingState,
  createBindingStateReader,
  createBindingStateRewrap,
  createBindingStateSeal,
  isAuthentic,
} from './binding-state.ts';

/** The binding in SQLite. Secrets arrive and leave wrapped; all rows are authenticated together at every read. */
export function createBindingStore(db: SqliteDatabase, secrets: SecretWrapper): BindingStore {
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const read = createBindingStateReader(db);
  const seal = createBindingStateSeal(db, secrets);

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
  const eraseSetupToken = db.prepare('DELETE FROM setup_token');

  // `data_version` tells of commits by other connections alone, so own writes count for themselves. A write that
  // is rolled back counts too: one reading too many costs nothing.
  let mark = 0;
  let seenVersion: number | undefined;
  const changeMark = (): number => {
    const version = dataVersion.get();
    if (version !== seenVersion) mark += 1;
    seenVersion = version;
    return mark;
  };

  let seen: { readonly mark: number; readonly state: BindingState } | undefined;
  /** The rows; undefined unless they are authentic and not older than what this process saw. */
  const readChecked = (): BindingState | undefined => {
    let at = changeMark();
    if (seen?.mark === at) return seen.state;
    let state = read();
    // Outside of a transaction another process may commit between two of the rows.
    while (at !== (at = changeMark())) state = read();
    if (state.generation < (seen?.state.generation ?? 0) || !isAuthentic(state, secrets)) return undefined;
    // An open transaction may still be rolled back.
    if (!db.inTransaction) seen = { mark: at, state };
    return state;
  };
  const checked = (): BindingState => {
    const state = readChecked();
    if (state === undefined) throw bindingChanged();
    return state;
  };

  /** Transactions are synchronous, so this comes after the one that wrote, committed or not. */
  const remember = (): void => {
    try {
      if (db.open) readChecked();
    } catch {
      // The next read says so.
    }
  };

  const write = (work: () => void, next: (now: BindingState) => boolean): void => {
    mark += 1;
    db.transaction(() => {
      // Against a generation that was rolled back, too.
      const now = readChecked() ?? read();
      const generation = Math.max(now.generation, seen?.state.generation ?? 0) + 1;
      work();
      seal({ generation, restored: next(now) });
    })();
    queueMicrotask(remember);
  };
  const changing =
    <A extends readonly unknown[]>(change: (...given: A) => void) =>
    (...given: A): void => {
      const { restored } = checked();
      write(
        () => change(...given),
        () => restored,
      );
    };
  const eraseBindingAndKeys = (): void => {
    eraseAllKeys.run();
    eraseBinding.run();
  };
  const eraseAll = (): void => {
    eraseBindingAndKeys();
    eraseCode.run();
    eraseSetupToken.run();
  };

  return {
    changeMark,
    isAuthentic: () => readChecked() !== undefined,
    binding: () => checked().binding,
    keys: () => checked().keys,
    keyState: (keyId) => checked().keys.find(({ id }) => id === keyId)?.state,
    code: () => checked().code,
    setupTokenHash: () => checked().setupTokenHash,
    needsUnseal: () => checked().restored,

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
    reset: () => write(eraseAll, () => false),
    markRestored: () => {
      const kept = readChecked()?.binding?.complete === true;
      const work = (): void => {
        if (!kept) return eraseAll();
        eraseCode.run();
        eraseSetupToken.run();
      };
      write(work, () => true);
    },
  };
}

/** What a rotation of the root key rewraps: the binding's keys, the secret of an open code, and the MAC over all. */
export function createBindingRewrappables(
  db: SqliteDatabase,
): readonly [keys: Rewrappable, code: Rewrappable, state: Rewrappable] {
  const keysAfter = db.prepare<
    [number, number],
    { readonly row: number; readonly id: string; readonly secret: Uint8Array }
  >('SELECT row, id, secret FROM binding_keys WHERE row > ? ORDER BY row LIMIT ?');
  const putKey = db.prepare<[Uint8Array, number]>('UPDATE binding_keys SET secret = ? WHERE row = ?');
  const liveCode = db.prepare<[], { readonly hash: Uint8Array; readonly secret: Uint8Array }>(
    `SELECT code_hash AS hash, secret FROM binding_code WHERE state = 'live'`,
  );
  const putCode = db.prepare<[Uint8Array]>(`UPDATE binding_code SET secret = ? WHERE state = 'live'`);
  return [
    {
      rewrap: (rewrap, after, limit) => {
        const rows = keysAfter.all(after, limit);
        for (const { row, id, secret } of rows) {
          const moved = rewrap(secret, keyPurpose(id));
          if (moved !== undefined) putKey.run(moved, row);
        }
        return rows.at(-1)?.row;
      },
    },
    {
      rewrap: (rewrap, after) => {
        const code = after === 0 ? liveCode.get() : undefined;
        if (code === undefined) return undefined;
        const moved = rewrap(code.secret, codePurpose(code.hash));
        if (moved !== undefined) putCode.run(moved);
        return 1;
      },
    },
    createBindingStateRewrap(db),
  ];
}
