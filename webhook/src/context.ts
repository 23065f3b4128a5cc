import { aeadReady } from '@svault/server-kit/aead';
import { type GroupCommit, createGroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { Clock } from '@svault/shared';
import { type Egress, type Resolve, createEgress } from '@svault/shared/egress';
import { type AuditLog, createAuditLog } from './audit/audit-log.ts';
import type { AuditStore } from './audit/audit-store.ts';
import { type Door, createDoor } from './binding/door.ts';
import type { WebhookConfig } from './config/config.ts';
import { CLAIMED_CAPABILITIES } from './config/program.ts';
import { type KeptMint, createMint } from './mint/mint.ts';
import { type StsEndpoint, stsEndpoint } from './mint/sts-endpoint.ts';
import { type ProxyConfigs, createProxyConfigs } from './proxy/proxy-configs.ts';
import { type Refreshing, createRefreshing } from './refresh/refreshing.ts';
import { createAuditStore } from './sqlite/audit-store.ts';
import { createBindingStateRewrap } from './sqlite/binding-state.ts';
import {
  createBindingCodeRewrap,
  createBindingKeysRewrap,
  createBindingStore,
} from './sqlite/binding-store.ts';
import { createClaimStore } from './sqlite/claim-store.ts';
import { createMasterKeyStore } from './sqlite/master-key-store.ts';
import { createProxyConfigStore } from './sqlite/proxy-config-store.ts';
import { createRecordStore } from './sqlite/record-store.ts';
import { createRefreshMarks } from './sqlite/refresh-marks.ts';
import { lockVault, openVaultFile, peekMasterKeys, vaultPath } from './sqlite/vault-file.ts';
import type { CurrentCredentials } from './vault/current-credential.ts';
import { createCurrentCredentials } from './vault/current-credentials.ts';
import { type Keyring, createKeyring } from './vault/keyring.ts';
import type { MasterKeyStore } from './vault/master-key-store.ts';
import type { Rewrappable } from './vault/rewrappable.ts';
import {
  type FirstMasterKey,
  type UnlockedKeys,
  WrongMasterKey,
  firstMasterKey,
  unlock,
} from './vault/unlock.ts';
import { type Vault, createVault } from './vault/vault.ts';

/** What a program brings along. */
export interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Instead of the machine's resolver, for every address that is called. */
  readonly resolve?: Resolve;
}

/** Everything that serve and the commands work with, built once. */
export interface Context extends Surroundings {
  readonly config: WebhookConfig;
  /** Of the database. */
  readonly path: string;
  readonly db: SqliteDatabase;
  readonly commit: GroupCommit;
  readonly masterKeys: MasterKeyStore;
  readonly keyring: Keyring;
  /** Every store that holds values wrapped under the master key. */
  readonly rewrappables: readonly Rewrappable[];
  readonly audit: AuditLog;
  readonly auditStore: AuditStore;
  readonly vault: Vault;
  readonly refreshing: Refreshing;
  readonly mint: KeptMint;
  readonly currentCredentials: CurrentCredentials;
  readonly proxyConfigs: ProxyConfigs;
  readonly door: Door;
  /** The one way out, for upstreams and providers; closed with the context. */
  readonly egress: Egress;
  readonly isReady: () => boolean;
  readonly close: () => void;
}

/**
 * Opens the vault: finds the master key first, and only then touches the database.
 *
 * @param options.serve takes the right to be the one serve on it, and makes a new vault where there is none
 * @throws WrongMasterKey and AlreadyServing with every byte as it was; NewerSchema
 */
export async function openContext(
  config: WebhookConfig,
  surroundings: Surroundings,
  options: { readonly serve: boolean } = { serve: false },
): Promise<Context> {
  await aeadReady();
  const { dataDir } = config;
  const path = vaultPath(dataDir);
  const entries = peekMasterKeys(path);
  if (entries.length === 0 && !options.serve) throw new Error(`there is no vault in ${dataDir}`);
  const known = await unlock(entries, config);
  const first = entries.length === 0 ? await firstMasterKey(config.masterKey) : undefined;

  const releases: (() => void)[] = [];
  const close = (): void => {
    for (const release of releases.splice(0).reverse()) release();
  };
  try {
    if (options.serve) releases.push(lockVault(path, dataDir));
    const db = openVaultFile(path, dataDir);
    releases.push(() => void db.close());
    const unlocked = first === undefined ? known : begin(db, surroundings, first);
    const { resolve } = surroundings;
    const egress = createEgress({ allow: config.egressAllow, ...(resolve !== undefined && { resolve }) });
    releases.push(() => void egress.close());
    const sts = config.awsStsEndpoint === undefined ? undefined : stsEndpoint(config.awsStsEndpoint, resolve);
    releases.push(() => void sts?.egress.close());
    return buildContext(config, surroundings, { db, unlocked, egress, sts, close });
  } catch (error) {
    close();
    throw error;
  }
}

const LOST_ENTRY =
  'this vault has lost what its master key is known by: restore a backup; nothing was changed';

/**
 * A new vault: its first key and the first entry of its log, in one transaction.
 *
 * @throws WrongMasterKey for a vault that is not new
 */
function begin(db: SqliteDatabase, { clock }: Surroundings, { key, entry }: FirstMasterKey): UnlockedKeys {
  const store = createAuditStore(db);
  // A vault has a log from its first transaction on. A new key for one that lost its own would hide the loss.
  if (store.head() !== undefined) throw new WrongMasterKey(LOST_ENTRY);
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
  opened: {
    readonly db: SqliteDatabase;
    readonly unlocked: UnlockedKeys;
    readonly egress: Egress;
    readonly sts: StsEndpoint | undefined;
    readonly close: () => void;
  },
): Context {
  const { db, unlocked, egress, sts, close } = opened;
  const { clock, logger } = surroundings;
  const commit = createGroupCommit(db);
  const masterKeys = createMasterKeyStore(db);
  const keyring = createKeyring({ store: masterKeys, keys: unlocked });
  const auditStore = createAuditStore(db);
  const audit = createAuditLog({ store: auditStore, commit, clock });
  const records = createRecordStore(db);
  const marks = createRefreshMarks(db);
  const vault = createVault({ records, marks, keys: keyring, audit, commit, clock });
  const refreshing = createRefreshing({ vault, marks, egress, audit, commit, clock, logger });
  const mint = createMint({ egress, sts, clock, logger });
  const bindings = createBindingStore(db, keyring);
  const door = createDoor({
    bindings,
    claims: createClaimStore(db),
    secrets: keyring,
    commit,
    audit,
    clock,
    logger,
    serviceUrl: config.serviceUrl,
    webhookUrl: config.webhookUrl,
    setupToken: config.setupToken,
    capabilities: CLAIMED_CAPABILITIES,
    restoredAtMs: auditStore.epochs().findLast(({ restored }) => restored)?.startedAtMs,
  });
  const probe = db.prepare('SELECT 1 FROM master_keys');
  return {
    ...surroundings,
    config,
    path: db.name,
    db,
    commit,
    masterKeys,
    keyring,
    rewrappables: [
      records,
      createBindingKeysRewrap(db),
      createBindingCodeRewrap(db),
      createBindingStateRewrap(db),
    ],
    audit,
    auditStore,
    vault,
    refreshing,
    mint,
    currentCredentials: createCurrentCredentials({ vault, marks, refresh: refreshing, mint, clock }),
    proxyConfigs: createProxyConfigs({ store: createProxyConfigStore(db), audit, commit }),
    door,
    egress,
    isReady: () => db.open && probe.get() !== undefined && bindings.isAuthentic(),
    close,
  };
}
