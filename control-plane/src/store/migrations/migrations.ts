import type { SchemaMigration } from './schema-migration.ts';
import { accounts } from './001-accounts.ts';
import { database } from './002-database.ts';
import { agents } from './003-agents.ts';
import { tokens } from './004-tokens.ts';
import { providers } from './005-providers.ts';
import { policies } from './006-policies.ts';
import { proxies } from './007-proxies.ts';
import { webhooks } from './008-webhooks.ts';
import { cliLogins } from './009-cli-logins.ts';
import { oauth } from './010-oauth.ts';
import { audit } from './011-audit.ts';
import { approvals } from './012-approvals.ts';
import { notifications } from './013-notifications.ts';
import { checkpoints } from './014-checkpoints.ts';

/** Every step of the schema in the order of its number. */
export const MIGRATIONS: readonly SchemaMigration[] = [
  accounts,
  database,
  agents,
  tokens,
  providers,
  policies,
  proxies,
  webhooks,
  cliLogins,
  oauth,
  audit,
  approvals,
  notifications,
  checkpoints,
];
