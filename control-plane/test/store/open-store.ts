import { silentLogger } from '@svault/server-kit/logger';
import { type Clock, Secret, systemClock } from '@svault/shared';
import { afterAll, beforeAll } from 'vitest';
import { tempDir } from '@svault/test-kit/temp-dir';
import { makeTestDatabase } from '@svault/test-kit/test-database';
import { databaseSetting } from '../../src/config/database-setting.ts';
import type { Database } from '../../src/store/database.ts';
import { openDatabase } from '../../src/store/open-database.ts';
import type { RootKeys } from '../../src/store/data-encryption-key.ts';
import type { DatabaseAddress } from '../../src/core/database-address.ts';

export const keyOf = (fill: number): Secret<Uint8Array> => new Secret(new Uint8Array(32).fill(fill));

/** An address for one store on the database of the test project. */
export interface StorePlace {
  readonly address: DatabaseAddress;
  /** Opens it as the control plane does. */
  open(clock?: Clock, rootKeys?: RootKeys): Promise<Database>;
  remove(): Promise<void>;
}

export async function makeStorePlace(): Promise<StorePlace> {
  const dir = tempDir();
  const made = await makeTestDatabase(dir.path);
  const address = databaseSetting.parse(made.env.SV_DATABASE_URL);
  return {
    address,
    open: (clock = systemClock, rootKeys = [keyOf(1)]) =>
      openDatabase(address, rootKeys, { clock, logger: silentLogger, opener: 'server' }),
    remove: async () => {
      await made.remove();
      dir.remove();
    },
  };
}

/** Opens a store before the tests of a file, and removes it after them. */
export function useStore(use: (database: Database, place: StorePlace) => void, clock?: Clock): void {
  let place: StorePlace;
  let database: Database;
  beforeAll(async () => {
    place = await makeStorePlace();
    database = await place.open(clock);
    use(database, place);
  });
  afterAll(async () => {
    await database.close();
    await place.remove();
  });
}
