import type { Migration } from '@svault/server-kit/sqlite';
import { vaultMigration } from './migrations/001-vault.ts';
import { bindingMigration } from './migrations/101-binding.ts';
import { claimsMigration } from './migrations/102-claims.ts';
import { refreshMarksMigration } from './migrations/103-refresh-marks.ts';
import { bindingStateMigration } from './migrations/110-binding-state.ts';
import { approvalsMigration } from './migrations/111-approvals.ts';
import { checkpointsMigration } from './migrations/112-checkpoints.ts';

/** Every migration of the webhook's database; openSqlite orders them by number. */
export const MIGRATIONS: readonly Migration[] = [
  vaultMigration,
  bindingMigration,
  claimsMigration,
  refreshMarksMigration,
  bindingStateMigration,
  approvalsMigration,
  checkpointsMigration,
];
