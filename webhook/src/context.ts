import { aeadReady } from '@svault/server-kit/aead';
import { createDiskProbe } from '@svault/server-kit/disk-probe';
import { type GroupCommit, type SqliteGroupCommit, createGroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import { observeCommitBy } from '@svault/server-kit/meters';
import { endAfterFailedSync } from '@svault/server-kit/shutdown';
import { type SqliteDatabase, emptyLog } from '@svault/server-kit/sqlite';
import { NO_TRACER, type Tracer } from '@svault/server-kit/tracing';
import type { Clock } from '@svault/shared';
import { type Egress, type Resolve, createEgress } from '@svault/shared/egress';
import { createAskApproval } from './approvals/ask.ts';
import { createDecideApproval } from './approvals/decide.ts';
import { createApprovers } from './approvals/enrol.ts';
import { createPasskeys } from './approvals/passkeys.ts';
import { createApprovedUses } from './approvals/use-approval.ts';
import { createAuditLog } from './audit/audit-log.ts';
import { createCheckpoints } from './audit/checkpoints.ts';
import { createBindFlow } from './binding/bind-flow.ts';
import { createBindingCodes } from './binding/binding-codes.ts';
import { createBindingReader } from './binding/binding.ts';
import { createExchange, createKeyRotation } from './binding/exchange.ts';
import { createSetupTokenCheck } from './binding/setup-token.ts';
import type { WebhookConfig } from './config/config.ts';
import { CLAIMED_CAPABILITIES } from './config/program.ts';
import { createCurrentCredentials } from './delivery/current-credential.ts';
import { type StsEndpoint, stsEndpoint } from './mint/aws-sts.ts';
import { type Metrics, NO_METRICS } from './metrics.ts';
import { createMint } from './mint/mint.ts';
import { createAskedCall } from './proxy/approved-operation.ts';
import { createProxyConfigs } from './proxy/proxy-configs.ts';
import { createRefreshing } from './refresh/refreshing.ts';
import { createClaimOnce } from './replay/claim-once.ts';
import { createFreshnessCheck } from './replay/freshness.ts';
import { createTimeFloor } from './replay/time-floor.ts';
import { createApprovalRewrappables, createApprovalStore } from './sqlite/approval-store.ts';
import { createAuditStore, restoredAtMsOf } from './sqlite/audit-store.ts';
import { createBindingRewrappables, createBindingStore } from './sqlite/binding-store.ts';
import { createCheckpointKeyRewrap, createCheckpointStore } from './sqlite/checkpoint-store.ts';
import { createClaimStore } from './sqlite/claim-store.ts';
import { createMasterKeyStore } from './sqlite/master-key-store.ts';
import { createProxyConfigStore } from './sqlite/proxy-config-store.ts';
import { createRecordStore, createRefreshMarks } from './sqlite/record-store.ts';
import { lockVault, openVaultFile, peekMasterKeys, vaultPath } from './sqlite/vault-file.ts';
import { createKeyring } from './vault/keyring.ts';
import { type UnlockedKeys, WrongMasterKey, firstMasterKey, unlock } from './vault/unlock.ts';
import { createVault } from './vault/vault.ts';

interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly tracer?: Tracer;
  /** Instead of the machine's resolver, for every outgoing call. */
  readonly resolve?: Resolve;
}

/** Everything that serve and the commands work with, built once. */
export type Context = ReturnType<typeof buildContext> & { readonly db: SqliteDatabase };

/**
 * Opens the vault. It finds the root key before it touches the database.
 *
 * @param options.serve takes the lock of the one serve, and makes a new vault if there is none
 * @throws WrongMasterKey and AlreadyServing, which leave every byte as it was; NewerSchema
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
    if (options.serve) emptyLog(db);
    const onSyncFailure = options.serve ? endAfterFailedSync(surroundings.logger) : undefined;
    const { metrics = NO_METRICS } = surroundings;
    const observe = metrics === NO_METRICS ? undefined : observeCommitBy(metrics);
    const commit = createGroupCommit(db, { onSyncFailure, observe });
    releases.push(() => commit.close());
    const unlocked = first === undefined ? known : begin(db, commit, surroundings, first);
    const { resolve, tracer = NO_TRACER } = surroundings;
    const egress = tracer.egress(
      createEgress({ allow: config.egressAllow, ...(resolve !== undefined && { resolve }) }),
    );
    releases.push(() => void egress.close());
    const sts = config.awsStsEndpoint === undefined ? undefined : stsEndpoint(config.awsStsEndpoint, resolve);
    releases.push(() => void sts?.egress.close());
    const tracedSts = sts && { ...sts, egress: tracer.egress(sts.egress) };
    return {
      ...buildContext(config, surroundings, { db, commit, unlocked, egress, sts: tracedSts, close }),
      db,
    };
  } catch (error) {
    close();
    throw error;
  }
}

const LOST_ENTRY = 'this vault has lost what its root key is known by: restore a backup; nothing was changed';

/**
 * A new vault: its first key and the first entry of its log, in one transaction.
 *
 * @throws WrongMasterKey for a vault that is not new
 */
function begin(
  db: SqliteDatabase,
  commit: GroupCommit,
  { clock }: Surroundings,
  { key, entry }: Awaited<ReturnType<typeof firstMasterKey>>,
): UnlockedKeys {
  const store = createAuditStore(db);
  // The first transaction of a vault begins its log. A new key for a vault that lost its key would hide the loss.
  if (store.head() !== undefined) throw new WrongMasterKey(LOST_ENTRY);
  const audit = createAuditLog({ store, clock, commit });
  db.transaction(() => {
    createMasterKeyStore(db).add(entry);
    audit.startEpochNow({ eventType: 'LOG_STARTED', outcome: 'success' }, { restored: false });
  }).immediate();
  return new Map([[entry.id, key]]);
}

function buildContext(
  config: WebhookConfig,
  { clock, logger, metrics = NO_METRICS }: Surroundings,
  opened: {
    readonly db: SqliteDatabase;
    readonly commit: SqliteGroupCommit;
    readonly unlocked: UnlockedKeys;
    readonly egress: Egress;
    readonly sts: StsEndpoint | undefined;
    readonly close: () => void;
  },
) {
  const { db, commit, unlocked, egress, sts, close } = opened;
  const masterKeys = createMasterKeyStore(db);
  const keyring = createKeyring({ store: masterKeys, keys: unlocked });
  const auditStore = createAuditStore(db);
  const audit = createAuditLog({ store: auditStore, commit, clock });
  const base = { commit, audit, clock, logger, metrics };

  const records = createRecordStore(db);
  const marks = createRefreshMarks(db);
  const approvals = createApprovalStore(db, keyring);
  const vault = createVault({ ...base, records, marks, approvals, keys: keyring });
  const refreshing = createRefreshing({ ...base, vault, marks, egress });
  const mint = createMint({ ...base, egress, sts });

  const bindings = createBindingStore(db, keyring);
  const claims = createClaimStore(db);
  const floor = createTimeFloor({ clock, store: claims });
  const { latestMs } = floor;
  const { serviceUrl, webhookUrl, setupToken } = config;
  const bound = { ...base, bindings, secrets: keyring, latestMs, serviceUrl, webhookUrl };
  const binding = createBindingReader(bound);
  const codes = createBindingCodes(bound);
  const restoredAtMs = restoredAtMsOf(auditStore);

  const checkpointStore = createCheckpointStore(db, keyring);
  const proxyConfigs = createProxyConfigs({ ...base, store: createProxyConfigStore(db) });
  const passkeys = createPasskeys(webhookUrl);
  const askedCall = createAskedCall({ proxyConfigs });

  const probe = db.prepare('SELECT 1 FROM master_keys');
  const probeDisk = createDiskProbe(db.name, clock);
  return {
    ...base,
    config,
    /** Of the database. */
    path: db.name,
    masterKeys,
    keyring,
    /** Every store of values that are wrapped under the root key. */
    rewrappables: [
      records,
      ...createBindingRewrappables(db),
      ...createApprovalRewrappables(db),
      createCheckpointKeyRewrap(db),
    ],
    auditStore,
    checkpoints: createCheckpoints({ ...bound, binding, auditStore, checkpointStore }),
    vault,
    refreshing,
    mint,
    credentials: createCurrentCredentials({ vault, marks, refresh: refreshing, mint, clock }),
    proxyConfigs,
    approvals,
    approvedUses: createApprovedUses({ approvals, latestMs }),
    approvers: createApprovers({ ...bound, approvals, passkeys }),
    decideApproval: createDecideApproval({ ...bound, approvals, vault, passkeys }),
    askApproval: createAskApproval({ ...bound, approvals, vault, binding, askedCall }),
    /** For upstreams and providers; closed with the context. */
    egress,
    bindings,
    binding,
    codes,
    bindFlow: createBindFlow({
      ...bound,
      binding,
      codes,
      isSetupToken: createSetupTokenCheck({ setupToken, bindings }),
    }),
    exchange: createExchange({ ...bound, codes, capabilities: CLAIMED_CAPABILITIES }),
    rotate: createKeyRotation(bound),
    /** When this data was restored from a backup; undefined: never. */
    restoredAtMs,
    claims,
    floor,
    latestMs,
    claimOnce: createClaimOnce({ ...base, bindings, claims, floor }),
    isFresh: createFreshnessCheck({ floor, restoredAtMs }),
    isReady: async (): Promise<boolean> => {
      if (!db.open || probe.get() === undefined || !bindings.isAuthentic()) return false;
      await probeDisk();
      return true;
    },
    close,
  };
}
