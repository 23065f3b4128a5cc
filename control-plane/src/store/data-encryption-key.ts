import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { AeadFailed } from '@svault/server-kit/aead';
import { type MasterKeys, createMasterKeys } from '@svault/server-kit/master-keys';
import { type Secret, fromBase64url, toBase64url } from '@svault/shared';
import type { Schema } from './schema.ts';

/** The root key of the settings does not open this database. Nothing was changed. */
class WrongMasterKey extends Error {
  constructor() {
    super('SV_MASTER_KEY does not open this database: it was made with another key');
    this.name = 'WrongMasterKey';
  }
}

/** The database has secrets and no data encryption key that opens them. Nothing was changed. */
class DataKeyLost extends Error {
  constructor() {
    super('the database has lost the key that its secrets are under: restore a backup');
    this.name = 'DataKeyLost';
  }
}

/** 32 bytes each; during a rotation the next key comes first. */
export type RootKeys = readonly [Secret<Uint8Array>, ...Secret<Uint8Array>[]];

const ROW = 1;
const PURPOSE = 'sealing-key';
const KEY_BYTES = 32;

/*
 * A data encryption key (DEK) wraps the database's secrets, and the operator's root key wraps the DEK. So a wrong root key
 * shows before anything is changed, and a rotation is one row in one transaction: a running server has the DEK and goes
 * on, and there is no half-rotated state.
 */

/**
 * Opens the data encryption key.
 *
 * @returns undefined for a database that has none yet
 * @throws WrongMasterKey where none of the keys opens it; DataKeyLost where there are accounts without it, since a new key
 *   would hide the loss and accept any root key
 */
export async function openDataKey(db: Kysely<Schema>, rootKeys: RootKeys): Promise<MasterKeys | undefined> {
  const row = await db.selectFrom('sealing_keys').select('wrapped').where('id', '=', ROW).executeTakeFirst();
  if (row !== undefined) return createMasterKeys([unwrap(row.wrapped, rootKeys)]);
  const account = await db.selectFrom('vaults').select('id').limit(1).executeTakeFirst();
  if (account !== undefined) throw new DataKeyLost();
  return undefined;
}

/**
 * The root key that opens this database; a backup of it is authenticated under the same key.
 *
 * @throws WrongMasterKey where none does
 */
export async function rootKeyOf(db: Kysely<Schema>, rootKeys: RootKeys): Promise<Secret<Uint8Array>> {
  const { wrapped } = await db
    .selectFrom('sealing_keys')
    .select('wrapped')
    .where('id', '=', ROW)
    .executeTakeFirstOrThrow();
  const opening = rootKeys.find((key) => {
    try {
      return unwrap(wrapped, [key]).length === KEY_BYTES;
    } catch (error) {
      if (error instanceof WrongMasterKey) return false;
      throw error;
    }
  });
  if (opening === undefined) throw new WrongMasterKey();
  return opening;
}

/** Creates the data encryption key, at the first start. */
export async function createDataKey(db: Kysely<Schema>, rootKeys: RootKeys): Promise<MasterKeys> {
  const key = randomBytes(KEY_BYTES);
  const wrapped = wrap(key, rootKeys[0]);
  await db.insertInto('sealing_keys').values({ id: ROW, wrapped }).execute();
  return createMasterKeys([key]);
}

/**
 * Wraps the data encryption key under the next root key. It may be repeated after a kill: the next key opens it too.
 *
 * @throws WrongMasterKey where neither key opens it
 */
export async function rewrapDataKey(
  db: Kysely<Schema>,
  keys: { readonly current: Secret<Uint8Array>; readonly next: Secret<Uint8Array> },
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const row = await transaction
      .selectFrom('sealing_keys')
      .select('wrapped')
      .where('id', '=', ROW)
      .executeTakeFirstOrThrow();
    const key = unwrap(row.wrapped, [keys.next, keys.current]);
    await transaction
      .updateTable('sealing_keys')
      .set({ wrapped: wrap(key, keys.next) })
      .where('id', '=', ROW)
      .execute();
  });
}

const wrap = (key: Uint8Array, under: Secret<Uint8Array>): string =>
  toBase64url(createMasterKeys([under.reveal()]).wrap(key, PURPOSE));

function unwrap(wrapped: string, [first, ...others]: RootKeys): Uint8Array {
  try {
    const keys = createMasterKeys([first.reveal(), ...others.map((key) => key.reveal())]);
    return keys.unwrap(fromBase64url(wrapped) ?? new Uint8Array(), PURPOSE);
  } catch (error) {
    if (error instanceof AeadFailed) throw new WrongMasterKey();
    throw error;
  }
}
