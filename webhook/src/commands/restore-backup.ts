import { aeadReady } from '@svault/server-kit/aead';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import type { Subcommand } from '@svault/server-kit/program';
import { systemClock } from '@svault/shared';
import { createAuditLog } from '../audit/audit-log.ts';
import { type WebhookConfig, webhookConfig } from '../config/config.ts';
import { createAuditStore } from '../store/audit-store-sqlite.ts';
import { createBindingStore } from '../store/binding-store-sqlite.ts';
import { placeRestoredFile } from '../store/restored-file.ts';
import { openVaultFile, peekMasterKeys } from '../store/vault-file.ts';
import { unlock } from '../vault/unlock.ts';

export const restoreBackupCommand: Subcommand = {
  usage: 'FILE',
  summary: 'Make a vault from a backup, in an empty data folder.',
  operands: 1,
  run: async ([file = ''], { env, out }) => {
    const config = webhookConfig(env);
    await placeRestoredFile(file, config.dataDir, (copy) => prepare(copy, config));
    out(`restored ${file} into ${config.dataDir}; tickets and codes from before are refused\n`);
  },
};

/**
 * Checks the copy, voids its binding code, and opens a new epoch in its log, which is also the moment of restore
 * (protocol section 4, last paragraph).
 */
async function prepare(copy: string, config: WebhookConfig): Promise<void> {
  await aeadReady();
  const entries = peekMasterKeys(copy);
  if (entries.length === 0) throw new Error('the file is no backup of a webhook');
  await unlock(entries, config);
  const db = openVaultFile(copy, config.dataDir);
  try {
    if (db.pragma('integrity_check', { simple: true }) !== 'ok') throw new Error('the backup is damaged');
    const audit = createAuditLog({
      store: createAuditStore(db),
      clock: systemClock,
      commit: createGroupCommit(db),
    });
    const bindings = createBindingStore(db);
    db.transaction(() => {
      if (bindings.code()?.state === 'live') bindings.endCode('expired');
      const { epoch, seq, hash } = audit.head();
      const detail = { former: { epoch, seq, hash } };
      audit.startEpochNow({ eventType: 'BACKUP_RESTORED', outcome: 'success', detail }, { restored: true });
    }).immediate();
  } finally {
    db.close();
  }
}
