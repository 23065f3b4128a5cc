import type { Program, Subcommand } from '@svault/server-kit/program';
import { onStop } from '@svault/server-kit/shutdown';
import { backupSqlite, wroteBackup } from '@svault/server-kit/sqlite-backup';
import { formatTime } from '@svault/shared';
import { verifyChain } from '../audit/verify-chain.ts';
import { newHmacSecret } from '../binding/binding-store.ts';
import { unsealBinding } from '../binding/binding.ts';
import { makeRegistration } from '../binding/registration-link.ts';
import { webhookConfig } from '../config/config.ts';
import { startWebhook } from '../serve.ts';
import { APPROVAL_COMMANDS } from './approvals.ts';
import { MIGRATE_COMMANDS } from './migrate.ts';
import { auditExport } from './audit-export.ts';
import { CHECKPOINT_COMMANDS } from './checkpoints.ts';
import { restoreBackupCommand } from './restore-backup.ts';
import { rotateMasterKeyCommand } from './rotate-master-key.ts';
import { withVault } from './with-vault.ts';

const serve: Subcommand = {
  summary: 'Serve until SIGTERM or SIGINT',
  operands: 0,
  run: async (_operands, { env, err }) => {
    const config = webhookConfig(env);
    const starting = startWebhook(config);
    // Registered before the start is complete: the first process of a container ignores a signal without a handler.
    onStop(async () => (await starting).close(), { drainSeconds: config.drainSeconds, err });
    const webhook = await starting;
    // To the terminal only: the log is kept and shipped, and must not hold this line.
    if (webhook.firstSetupToken !== undefined)
      err(`set-up token for the bind page, shown this once: ${webhook.firstSetupToken}\n`);
  },
};

/** Needs no set-up token: its caller has the webhook's settings and data. */
const bindLink: Subcommand = {
  summary: 'Print a one-time registration link and its fingerprint',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ codes, config, say }) => {
      const registration = await makeRegistration({ ...config, codes }, newHmacSecret());
      const { link, fingerprint, expiresAtMs } = registration;
      say(`${link}\n\nFingerprint  ${fingerprint}\nExpires      ${formatTime(expiresAtMs)}, works once`);
    }),
};

const unsealBind: Subcommand = {
  summary: 'Unbind: erase all keys of the binding at once and open the bind page again',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ say, ...context }) => {
      const { wasBound, setupToken } = await unsealBinding({ ...context, ...context.config });
      say(
        wasBound
          ? 'Unbound: the keys of the binding are erased.'
          : 'Nothing was bound; any open registration link is void now.',
      );
      if (setupToken !== undefined) say(`New set-up token, shown this once:\n${setupToken}`);
    }),
};

const backup: Subcommand = {
  usage: 'FILE',
  summary: 'Write an authenticated copy of the vault to a new file; it opens with the same root key',
  operands: 1,
  run: ([file = ''], surroundings) =>
    withVault(surroundings, async ({ db, keyring, clock, config, say }) => {
      const { backupRecipients: recipients } = config;
      const { key: masterKey, derivation } = keyring.newest();
      const madeAt = formatTime(clock.now());
      await backupSqlite(db, file, { program: 'webhook', masterKey, madeAt, derivation, recipients });
      say(wroteBackup(file, recipients));
    }),
};

const purge: Subcommand = {
  usage: 'NAME',
  summary: 'Erase the former versions of a record now instead of after 7 days',
  operands: 1,
  run: ([serviceName = ''], surroundings) =>
    withVault(surroundings, async ({ vault, say }) => {
      const versions = await vault.purge(serviceName);
      say(`erased ${versions} former ${versions === 1 ? 'version' : 'versions'} of ${serviceName}`);
    }),
};

const restore: Subcommand = {
  usage: 'NAME [VERSION]',
  summary: 'Bring back a version of a record: the one replaced or deleted last, unless named',
  operands: 1,
  optionalOperands: 1,
  run: ([serviceName = '', version], surroundings) =>
    withVault(surroundings, async ({ vault, say }) => {
      const kept = vault.keptVersions(serviceName).join(', ');
      const restored = await vault.restore(serviceName, version === undefined ? undefined : Number(version));
      if (restored !== undefined) say(`${serviceName} is back as version ${restored}; kept were ${kept}`);
      else if (kept === '') throw new Error(`no former version of ${serviceName} is kept`);
      else throw new Error(`version ${version} of ${serviceName} is not kept; kept are ${kept}`);
    }),
};

const auditVerify: Subcommand = {
  summary: 'Check the log of this webhook for changed, missing or reordered entries',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ db, auditStore, say }) => {
      // One transaction, so that a running serve cannot move the heads between the two reads.
      const verdict = db.transaction(() => verifyChain(auditStore.epochs(), auditStore.walk()))();
      if (!verdict.ok) {
        say(`the log is broken at epoch ${verdict.epoch}, seq ${verdict.seq}: ${verdict.problem}`);
        return 1;
      }
      const { entries, epochs, head } = verdict;
      say(
        `the log is whole: ${entries} entries in ${epochs} epoch(s); head ${head.epoch} ${head.seq} ${head.hash}`,
      );
      return 0;
    }),
};

/** The webhook and its subcommands. */
export const WEBHOOK: Program = {
  name: 'webhook',
  fallback: 'serve',
  subcommands: {
    serve,
    'bind-link': bindLink,
    'unseal-bind': unsealBind,
    ...APPROVAL_COMMANDS,
    'rotate-master-key': rotateMasterKeyCommand,
    ...MIGRATE_COMMANDS,
    backup,
    'restore-backup': restoreBackupCommand,
    restore,
    purge,
    'audit verify': auditVerify,
    'audit export': auditExport,
    ...CHECKPOINT_COMMANDS,
  },
};
