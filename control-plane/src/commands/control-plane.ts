import type { Program } from '@svault/server-kit/program';
import { auditVerify } from './audit-verify.ts';
import { backup } from './backup.ts';
import { ownerLink } from './owner-link.ts';
import { restoreBackup } from './restore-backup.ts';
import { rotateMasterKey } from './rotate-master-key.ts';
import { serve } from './serve.ts';

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
