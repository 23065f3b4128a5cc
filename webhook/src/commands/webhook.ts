import type { Program } from '@svault/server-kit/program';
import { auditVerifyCommand } from './audit-verify.ts';
import { backupCommand } from './backup.ts';
import { bindLinkCommand } from './bind-link.ts';
import { purgeCommand } from './purge.ts';
import { restoreBackupCommand } from './restore-backup.ts';
import { restoreCommand } from './restore.ts';
import { rotateMasterKeyCommand } from './rotate-master-key.ts';
import { serveCommand } from './serve.ts';
import { unsealBindCommand } from './unseal-bind.ts';

/** The webhook and its subcommands. */
export const WEBHOOK: Program = {
  name: 'webhook',
  fallback: 'serve',
  subcommands: {
    serve: serveCommand,
    'bind-link': bindLinkCommand,
    'unseal-bind': unsealBindCommand,
    'rotate-master-key': rotateMasterKeyCommand,
    backup: backupCommand,
    'restore-backup': restoreBackupCommand,
    restore: restoreCommand,
    purge: purgeCommand,
    'audit verify': auditVerifyCommand,
  },
};
