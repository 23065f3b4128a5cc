import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aeadReady } from '@svault/server-kit/aead';
import { createMasterKeys } from '@svault/server-kit/master-keys';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { Secret, utf8 } from '@svault/shared';
import { createMasterKeyStore } from '../sqlite/master-key-store.ts';
import { openVaultFile } from '../sqlite/vault-file.ts';
import { type Keyring, createKeyring } from './keyring.ts';
import { type Rewrappable, RotationRefused, rotateMasterKey } from './master-key-rotation.ts';
import { firstMasterKey, unlock } from './unlock.ts';

const PURPOSE = 'test';
const former = randomBytes(32);
const next = randomBytes(32);
const given = (key: Uint8Array, nextKey?: Uint8Array) => ({
  masterKey: { kind: 'key', key: new Secret(key) } as const,
  nextMasterKey: nextKey && new Secret(nextKey),
});

let dir: string;
let db: SqliteDatabase;
let serving: Keyring;
let values: Uint8Array[];

beforeAll(aeadReady);
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'svault-keyring-'));
  db = openVaultFile(join(dir, 'webhook.db'), dir);
  const { key, entry } = await firstMasterKey(given(former).masterKey);
  createMasterKeyStore(db).add(entry);
  serving = createKeyring({ store: createMasterKeyStore(db), keys: new Map([[entry.id, key]]) });
  values = Array.from({ length: 5 }, (_, index) => serving.wrap(utf8(`value ${index}`), PURPOSE));
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true });
});

const memory: Rewrappable = {
  rewrap: (move, after, limit) => {
    const end = Math.min(after + limit, values.length);
    for (let index = after; index < end; index += 1)
      values[index] = move(values[index]!, PURPOSE) ?? values[index]!;
    return end > after ? end : undefined;
  },
};

async function rotate(
  key: Uint8Array,
  pause: () => Promise<void> = () => Promise.resolve(),
  onProgress?: (values: number) => void,
) {
  const store = createMasterKeyStore(db);
  const keys = await unlock(store.list(), given(former, key));
  const rotation = {
    store,
    keyring: createKeyring({ store, keys }),
    rewrappables: [memory],
    audit: { appendNow: () => undefined },
    transact: <T>(work: () => T): T => db.transaction(work).immediate(),
    pause,
    batchRows: 2,
    ...(onProgress !== undefined && { onProgress }),
  };
  return rotateMasterKey(rotation, key);
}

const read = (keyring: Keyring, index: number): string =>
  Buffer.from(keyring.unwrap(values[index]!, PURPOSE)).toString();

describe('a rotation', () => {
  it('lets a running keyring read and write at each step', async () => {
    let steps = 0;
    await rotate(next, async () => {
      values.forEach((_, index) => expect(read(serving, index)).toBe(`value ${index}`));
      // What comes while it runs is under the next key already; the walk must still end.
      if ((steps += 1) <= 20) values.push(serving.wrap(utf8(`value ${values.length}`), PURPOSE));
    });
    expect(steps).toBeLessThan(20);
    const newOnly = createMasterKeys([next]);
    values.forEach((value) => newOnly.unwrap(value, PURPOSE));
  });

  it('rewraps a value that was wrapped before it began and stored behind it', async () => {
    const early = serving.wrap(utf8('early'), PURPOSE);
    await rotate(next, async () => {
      values[0] = early;
    });
    expect(Buffer.from(createMasterKeys([next]).unwrap(values[0]!, PURPOSE)).toString()).toBe('early');
  });

  it('leaves nothing that the former key could open, once the running keyring has switched', async () => {
    expect(await rotate(next)).toBe('rotated');
    serving.refresh();
    expect(createMasterKeyStore(db).list()).toMatchObject([{ state: 'current', link: null }]);
    expect(read(serving, 0)).toBe('value 0');
    await expect(unlock(createMasterKeyStore(db).list(), given(former))).rejects.toThrow(/does not open/);
    expect(await rotate(next)).toBe('already');
  });

  it('continues after a kill, with the same key only', async () => {
    await expect(rotate(next, () => Promise.reject(new Error('killed')))).rejects.toThrow('killed');
    const entries = createMasterKeyStore(db).list();
    await expect(unlock(entries, given(former))).rejects.toThrow(/interrupted/);
    await expect(unlock(entries, given(next))).rejects.toThrow(/interrupted/);
    const keys = await unlock(entries, given(former, next));
    const keyring = createKeyring({ store: createMasterKeyStore(db), keys });
    values.forEach((_, index) => expect(read(keyring, index)).toBe(`value ${index}`));
    expect(await rotate(next)).toBe('rotated');
  });

  it('says after every 50 batches how many values are under the next key', async () => {
    while (values.length < 250) values.push(serving.wrap(utf8('another'), PURPOSE));
    const said: number[] = [];
    await rotate(next, undefined, (count) => said.push(count));
    expect(said).toEqual([100, 200]);
  });

  it('rejects a second key while it is in progress', async () => {
    await expect(rotate(next, () => Promise.reject(new Error('killed')))).rejects.toThrow('killed');
    const store = createMasterKeyStore(db);
    const keyring = createKeyring({ store, keys: await unlock(store.list(), given(former, next)) });
    const transact = <T>(work: () => T): T => work();
    const audit = { appendNow: () => undefined };
    const rotation = { store, keyring, rewrappables: [], audit, transact, pause: () => Promise.resolve() };
    await expect(rotateMasterKey(rotation, randomBytes(32))).rejects.toThrow(RotationRefused);
  });
});
