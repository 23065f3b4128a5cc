import type { Program } from '@svault/server-kit/program';
import { auditVerify } from './commands/audit-verify.ts';
import { backup } from './commands/backup.ts';
import { ownerLink } from './commands/owner-link.ts';
import { restoreBackup } from './commands/restore-backup.ts';
import { rotateMasterKey } from './commands/rotate-master-key.ts';
import { serve } from './commands/serve.ts';

/** The control plane and its subcommands. */
export const CONTROL_PLANE: Program = {
  name: 'control-plane',
  fallback: 'serve',
  subcommands: {
    serve,
    'owner-link': ownerLink,
    'rotate-master-key': rotateMasterKey,
    backup,
    'restore-backup': restoreBackup,
    'audit verify': auditVerify,
  },
};
