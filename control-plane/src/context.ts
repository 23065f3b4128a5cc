import type { Clock } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import { type AdminKeys, createAdminKeys } from './accounts/admin-keys.ts';
import { type Sessions, createSessions } from './accounts/sessions.ts';
import type { ControlPlaneConfig } from './config/config.ts';
import { type Database, openDatabase } from './store/database.ts';
import type { OperatorKeys } from './store/sealing-key.ts';
import { createStores, createUnitOfWork } from './store/unit-of-work-kysely.ts';
import type { Stores, UnitOfWork } from './unit-of-work.ts';

/** Everything the program is made of, built once. Features and routes take what they need of it, never the whole. */
export interface Context {
  readonly config: ControlPlaneConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly database: Database;
  readonly stores: Stores;
  readonly unitOfWork: UnitOfWork;
  readonly adminKeys: AdminKeys;
  readonly sessions: Sessions;
  close(): Promise<void>;
}

/**
 * Builds all adapters.
 *
 * @throws WrongMasterKey, NewerSchema
 */
export async function createContext(
  config: ControlPlaneConfig,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Context> {
  const database = await openDatabase(config.databasePath, operatorKeys(config));
  const stores = createStores(database.kysely, clock);
  return {
    config,
    clock,
    logger,
    database,
    stores,
    unitOfWork: createUnitOfWork(database.kysely, clock),
    adminKeys: createAdminKeys(stores, clock),
    sessions: createSessions(stores, clock),
    close: () => database.close(),
  };
}

/** During a rotation either key may be the one that opens the database. */
export function operatorKeys({ masterKey, masterKeyNext }: ControlPlaneConfig): OperatorKeys {
  return masterKeyNext === undefined ? [masterKey] : [masterKey, masterKeyNext];
}
