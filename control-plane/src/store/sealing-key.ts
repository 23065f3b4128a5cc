import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import { AeadFailed } from '@svault/server-kit/aead';
import { type MasterKeys, createMasterKeys } from '@svault/server-kit/master-keys';
import { type Secret, fromBase64url, toBase64url } from '@svault/shared';
import type { Schema } from './schema/schema.ts';

/** The master key of the settings is not the one this database was made with. Nothing was changed. */
class WrongMasterKey extends Error {
  constructor() {
    super('SV_MASTER_KEY does not open this database: it was made with another key');
    this.name = 'WrongMasterKey';
  }
}

/** Secrets were wrapped in this database, and what they were wrapped under is gone. Nothing was changed. */
class SealingKeyLost extends Error {
  constructor() {
    super('the database has lost the key that its secrets are under: restore a backup');
    this.name = 'SealingKeyLost';
  }
}

/** 32 bytes each, the one to come first. */
export type OperatorKeys = readonly [Secret<Uint8Array>, ...Secret<Uint8Array>[]];

const ROW = 1;
const PURPOSE = 'sealing-key';
const KEY_BYTES = 32;

/*
 * The database's secrets are wrapped under a key of its own, which is wrapped under the operator's master key. So a
 * wrong master key shows before anything is touched, and a rotation is one row in one transaction: a running
 * server, which holds the inner key, is not disturbed, and there is no half-rotated state.
 */

/**
 * Opens the database's own key.
 *
 * @returns undefined for a database that has none yet
 * @throws WrongMasterKey when none of the keys opens it; SealingKeyLost where there are accounts without it, since a
 *   new key in its place would hide the loss and let any master key in
 */
export async function openSealingKey(
  db: Kysely<Schema>,
  operatorKeys: OperatorKeys,
): Promise<MasterKeys | undefined> {
  const row = await db.selectFrom('sealing_keys').select('wrapped').where('id', '=', ROW).executeTakeFirst();
  if (row !== undefined) return createMasterKeys([unwrap(row.wrapped, operatorKeys)]);
  const account = await db.selectFrom('vaults').select('id').limit(1).executeTakeFirst();
  if (account !== undefined) throw new SealingKeyLost();
  return undefined;
}

/**
 * The key among the operator's that opens this database: what a copy of it is authenticated under.
 *
 * @throws WrongMasterKey when none does
 */
export async function operatorKeyOf(
  db: Kysely<Schema>,
  operatorKeys: OperatorKeys,
): Promise<Secret<Uint8Array>> {
  const { wrapped } = await db
    .selectFrom('sealing_keys')
    .select('wrapped')
    .where('id', '=', ROW)
    .executeTakeFirstOrThrow();
  const opening = operatorKeys.find((key) => {
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

/** Makes the database's own key, at first start. */
export async function makeSealingKey(db: Kysely<Schema>, operatorKeys: OperatorKeys): Promise<MasterKeys> {
  const key = randomBytes(KEY_BYTES);
  const wrapped = wrap(key, operatorKeys[0]);
  await db.insertInto('sealing_keys').values({ id: ROW, wrapped }).execute();
  return createMasterKeys([key]);
}

/**
 * Puts the database's own key under a new master key. Once it is there, running it again changes nothing of
 * meaning, so that it can be repeated after a kill.
 *
 * @throws WrongMasterKey when neither key opens it
 */
export async function rewrapSealingKey(
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

function unwrap(wrapped: string, [first, ...others]: OperatorKeys): Uint8Array {
  try {
    const keys = createMasterKeys([first.reveal(), ...others.map((key) => key.reveal())]);
    return keys.unwrap(fromBase64url(wrapped) ?? new Uint8Array(), PURPOSE);
  } catch (error) {
    if (error instanceof AeadFailed) throw new WrongMasterKey();
    throw error;
  }
}
