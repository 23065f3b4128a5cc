import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aeadReady } from '@svault/server-kit/aead';
import { createMasterKeys } from '@svault/server-kit/master-keys';
import { type SqliteDatabase, openSqlite } from '@svault/server-kit/sqlite';
import { type BindingStore, codePurpose, keyPurpose } from '../binding/binding-store.ts';
import { createBindingRewrappables, createBindingStore } from './binding-store.ts';
import { bindingMigration } from './migrations/101-binding.ts';
import { bindingStateMigration } from './migrations/110-binding-state.ts';

const SECRETS = createMasterKeys([new Uint8Array(32).fill(7)]);

let folder: string;
let open: SqliteDatabase[];
let db: SqliteDatabase;
let store: BindingStore;

function connect(): SqliteDatabase {
  const connection = openSqlite(join(folder, 'binding.db'), {
    migrations: [bindingMigration, bindingStateMigration],
  });
  open.push(connection);
  return connection;
}

beforeAll(aeadReady);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svault-binding-'));
  open = [];
  db = connect();
  store = createBindingStore(db, SECRETS);
});
afterEach(() => {
  for (const connection of open) connection.close();
  rmSync(folder, { recursive: true });
});

const BINDING = { webhookId: 'whk_1', serviceBaseUrl: 'https://s.test', vaultId: 'vlt_1' };
const key = (id: string): { id: string; wrappedSecret: Uint8Array } => ({
  id,
  wrappedSecret: Buffer.from(`wrapped ${id}`),
});
const code = (text: string): { codeHash: Uint8Array; expiresAtMs: number; wrappedSecret: Uint8Array } => ({
  codeHash: Buffer.from(text),
  expiresAtMs: 5_000,
  wrappedSecret: Buffer.from('wrapped secret'),
});
const states = (): Record<string, string> =>
  Object.fromEntries(store.keys().map(({ id, state }) => [id, state]));

describe('the keys of a binding', () => {
  it('are pending, then current, then former, at most one of each', () => {
    store.startBinding(BINDING, key('a'));
    expect([states(), store.binding()?.complete]).toEqual([{ a: 'pending' }, false]);
    store.activatePendingKey(1_000);
    expect([states(), store.binding()?.complete]).toEqual([{ a: 'current' }, true]);
    store.putPendingKey(key('b'));
    store.putPendingKey(key('c'));
    expect(states()).toEqual({ a: 'current', c: 'pending' });
    store.activatePendingKey(2_000);
    expect(states()).toEqual({ a: 'former', c: 'current' });
    expect(store.keys().find(({ id }) => id === 'a')?.validUntilMs).toBe(2_000);
    store.putPendingKey(key('d'));
    store.activatePendingKey(3_000);
    expect(states()).toEqual({ c: 'former', d: 'current' });
    store.eraseFormerKey();
    expect(states()).toEqual({ d: 'current' });
    expect([store.keyState('d'), store.keyState('c')]).toEqual(['current', undefined]);
  });

  it('are deleted with the binding', () => {
    store.putCode(code('c'));
    store.startBinding(BINDING, key('a'));
    store.erase();
    expect([store.binding(), store.keys(), store.code()]).toEqual([undefined, [], undefined]);
  });
});

describe('the code', () => {
  it('is the latest one, and its secret is erased when it expires', () => {
    store.putCode(code('one'));
    store.putCode(code('two'));
    expect(Buffer.from(store.code()!.codeHash).toString()).toBe('two');
    store.endCode('used');
    store.endCode('expired');
    expect(store.code()).toMatchObject({ state: 'used', wrappedSecret: null });
  });
});

describe('the change mark', () => {
  it('changes with each change by this connection or another, and only then', () => {
    const before = store.changeMark();
    expect(store.changeMark()).toBe(before);
    store.startBinding(BINDING, key('a'));
    const own = store.changeMark();
    expect(own).not.toBe(before);
    createBindingStore(connect(), SECRETS).erase();
    const foreign = store.changeMark();
    expect(foreign).not.toBe(own);
    expect(store.changeMark()).toBe(foreign);
  });

  it('changes with a change that is rolled back', () => {
    const before = store.changeMark();
    const failing = db.transaction(() => {
      store.startBinding(BINDING, key('a'));
      throw new Error('later work failed');
    });
    expect(failing).toThrow('later work failed');
    expect(store.changeMark()).not.toBe(before);
    expect(store.binding()).toBeUndefined();
  });
});

describe('a rotation of the root key', () => {
  it('rewraps every value for its purpose, in steps', () => {
    store.startBinding(BINDING, key('a'));
    store.activatePendingKey(1_000);
    store.putPendingKey(key('b'));
    store.putCode(code('c'));
    const purposes: string[] = [];
    const move = (wrapped: Uint8Array, purpose: string): Uint8Array => {
      purposes.push(purpose);
      return Buffer.concat([Buffer.from('new '), wrapped]);
    };
    const [keys, codes] = createBindingRewrappables(db);
    let last: number | undefined = 0;
    while ((last = keys.rewrap(move, last, 1)) !== undefined);
    expect(codes.rewrap(move, codes.rewrap(move, 0, 10)!, 10)).toBeUndefined();
    expect(purposes).toEqual([keyPurpose('a'), keyPurpose('b'), codePurpose(Buffer.from('c'))]);
    const texts = store.keys().map(({ wrappedSecret }) => Buffer.from(wrappedSecret).toString());
    expect(texts).toEqual(['new wrapped a', 'new wrapped b']);
    expect(Buffer.from(store.code()!.wrappedSecret!).toString()).toBe('new wrapped secret');
  });

  it('does not change values that the newest key wraps', () => {
    store.startBinding(BINDING, key('a'));
    createBindingRewrappables(db)[0].rewrap(() => undefined, 0, 10);
    expect(Buffer.from(store.keys()[0]!.wrappedSecret).toString()).toBe('wrapped a');
  });
});
