import type { Registry } from 'prom-client';
import { aeadReady } from '@svault/server-kit/aead';
import { type GroupCommit, createGroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import { createMetrics } from '@svault/server-kit/metrics';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { Clock } from '@svault/shared';
import { type AuditLog, createAuditLog } from './audit/audit-log.ts';
import type { AuditStore } from './audit/audit-store.ts';
import type { WebhookConfig } from './config/config.ts';
import { createAuditStore } from './store/audit-store-sqlite.ts';
import { createMasterKeyStore } from './store/master-key-store-sqlite.ts';
import { openVaultFile, peekMasterKeys, vaultPath } from './store/vault-file.ts';
import { type Keyring, createKeyring } from './vault/keyring.ts';
import type { MasterKeyStore } from './vault/master-key-store.ts';
import { type UnlockedKeys, firstMasterKey, unlock } from './vault/unlock.ts';

/** What a program brings along. */
export interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Everything that serve and the commands work with, built once. */
export interface Context extends Surroundings {
  readonly config: WebhookConfig;
  readonly metrics: Registry;
  /** Of the database. */
  readonly path: string;
  readonly db: SqliteDatabase;
  readonly commit: GroupCommit;
  readonly masterKeys: MasterKeyStore;
  readonly unlocked: UnlockedKeys;
  readonly keyring: Keyring;
  readonly audit: AuditLog;
  readonly auditStore: AuditStore;
  /** Moment of the last restore from a backup, milliseconds since 1970 (protocol section 4, last paragraph). */
  readonly restoredAtMs: number | undefined;
  readonly isReady: () => boolean;
  readonly close: () => void;
}

/**
 * Opens the vault: finds the master key first, and only then touches the database.
 *
 * @throws WrongMasterKey with every byte as it was; NewerSchema
 */
export async function openContext(config: WebhookConfig, surroundings: Surroundings): Promise<Context> {
  await aeadReady();
  const path = vaultPath(config.dataDir);
  const entries = peekMasterKeys(path);
  const known = await unlock(entries, config);
  const first = entries.length === 0 ? await firstMasterKey(config.masterKey) : undefined;

  const db = openVaultFile(path, config.dataDir);
  try {
    return buildContext(
      config,
      surroundings,
      db,
      first === undefined ? known : begin(db, surroundings, first),
    );
  } catch (error) {
    db.close();
    throw error;
  }
}

type FirstMasterKey = Awaited<ReturnType<typeof firstMasterKey>>;

/** A new vault: its first key and the first entry of its log, in one transaction. */
function begin(db: SqliteDatabase, { clock }: Surroundings, { key, entry }: FirstMasterKey): UnlockedKeys {
  const store = createAuditStore(db);
  const audit = createAuditLog({ store, clock, commit: createGroupCommit(db) });
  db.transaction(() => {
    createMasterKeyStore(db).add(entry);
    audit.startEpochNow({ eventType: 'LOG_STARTED', outcome: 'success' }, { restored: false });
  }).immediate();
  return new Map([[entry.id, key]]);
}

function buildContext(
  config: WebhookConfig,
  surroundings: Surroundings,
  db: SqliteDatabase,
  unlocked: UnlockedKeys,
): Context {
  const commit = createGroupCommit(db);
  const auditStore = createAuditStore(db);
  const audit = createAuditLog({ store: auditStore, commit, clock: surroundings.clock });
  const masterKeys = createMasterKeyStore(db);
  const keyring = createKeyring({ store: masterKeys, keys: unlocked });
  const probe = db.prepare('SELECT 1 FROM master_keys');
  return {
    ...surroundings,
    config,
    path: db.name,
    metrics: createMetrics('webhook'),
    db,
    commit,
    masterKeys,
    unlocked,
    keyring,
    audit,
    auditStore,
    restoredAtMs: auditStore.epochs().findLast(({ restored }) => restored)?.startedAtMs,
    isReady: () => db.open && probe.get() !== undefined,
    close: () => void db.close(),
  };
}
