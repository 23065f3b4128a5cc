import { aeadReady } from '@svault/server-kit/aead';
import { openBackup } from '@svault/server-kit/backup-file';
import { BackupRefused } from '@svault/server-kit/backup-refused';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import type { Subcommand } from '@svault/server-kit/program';
import { whereToGive } from '@svault/server-kit/settings';
import { type Clock, formatTime } from '@svault/shared';
import { createAuditLog } from '../audit/audit-log.ts';
import { type WebhookConfig, webhookConfig } from '../config/config.ts';
import { createApprovalStore } from '../sqlite/approval-store.ts';
import { createAuditStore, restoredAtMsOf } from '../sqlite/audit-store.ts';
import { createBindingStore } from '../sqlite/binding-store.ts';
import { createMasterKeyStore } from '../sqlite/master-key-store.ts';
import { openVaultFile, peekMasterKeys, placeRestoredFile } from '../sqlite/vault-file.ts';
import { candidateKeys, isKeyDerivation, unlock } from '../vault/unlock.ts';
import { acceptsAgainMs } from '../replay/freshness.ts';
import { createKeyring } from '../vault/keyring.ts';

export const restoreBackupCommand: Subcommand = {
  usage: 'FILE [IDENTITY]',
  summary: 'Restore a backup into an empty data folder; IDENTITY is the age file of an encrypted one',
  operands: 1,
  optionalOperands: 1,
  run: async ([file = '', identityFile], { env, clock, out }) => {
    const config = webhookConfig(env);
    await placeRestoredFile(config.dataDir, async (copy) => {
      const { madeAt } = await openBackup(file, copy, {
        program: 'webhook',
        identityFile,
        masterKeys: ({ derivation }) => masterKeysFor(derivation, config),
        whereToGiveKey: `${whereToGive(env, 'SV_WEBHOOK_MASTER_KEY')}, or its passphrase as SV_WEBHOOK_PASSPHRASE`,
      });
      const resumeAt = formatTime(acceptsAgainMs(await prepare(copy, config, clock)));
      out(`Restored the backup of ${madeAt} into ${config.dataDir}.\n`);
      out(`Deliveries resume at ${resumeAt.slice(11, 19)} UTC.\n`);
    });
    out(
      'Tickets, codes, approvals and the set-up token from before are refused; approvers are those of the backup. A binding continues. ' +
        'Only where it was made again or its secret was rotated after the backup, run svault webhook unbind, unseal-bind here, and svault webhook bind.\n',
    );
  },
};

function masterKeysFor(derivation: unknown, config: WebhookConfig): Promise<readonly Uint8Array[]> {
  if (derivation !== undefined && !isKeyDerivation(derivation))
    throw new BackupRefused('the backup was changed: its key derivation is none that this program makes');
  return candidateKeys(derivation, config);
}

/**
 * Voids the set-up token, the binding code and the approvals of the copy, and opens a new epoch in its log, which is also the moment
 * of restore (PROTOCOL.md section 4, last paragraph).
 *
 * @returns that moment, in milliseconds since 1970
 */
async function prepare(copy: string, config: WebhookConfig, clock: Clock): Promise<number> {
  await aeadReady();
  const keys = await unlock(peekMasterKeys(copy), config);
  const db = openVaultFile(copy, config.dataDir);
  try {
    if (db.pragma('integrity_check', { simple: true }) !== 'ok') throw new Error('the backup is damaged');
    const store = createAuditStore(db);
    const audit = createAuditLog({ store, clock, commit: createGroupCommit(db) });
    const keyring = createKeyring({ store: createMasterKeyStore(db), keys });
    const bindings = createBindingStore(db, keyring);
    db.transaction(() => {
      bindings.markRestored();
      createApprovalStore(db, keyring).endAll();
      const { epoch, seq, hash } = audit.head();
      const detail = { former: { epoch, seq, hash } };
      audit.startEpochNow({ eventType: 'BACKUP_RESTORED', outcome: 'success', detail }, { restored: true });
    }).immediate();
    return restoredAtMsOf(store) ?? 0;
  } finally {
    db.close();
  }
}
