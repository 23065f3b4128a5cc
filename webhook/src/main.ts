import { runProgram } from '@svault/server-kit/program';
import { auditVerifyCommand } from './commands/audit-verify.ts';
import { backupCommand } from './commands/backup.ts';
import { bindLinkCommand } from './commands/bind-link.ts';
import { purgeCommand } from './commands/purge.ts';
import { restoreBackupCommand } from './commands/restore-backup.ts';
import { restoreCommand } from './commands/restore.ts';
import { rotateMasterKeyCommand } from './commands/rotate-master-key.ts';
import { serveCommand } from './commands/serve.ts';
import { unsealBindCommand } from './commands/unseal-bind.ts';

await runProgram(
  {
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
  },
  process.argv.slice(2),
);
