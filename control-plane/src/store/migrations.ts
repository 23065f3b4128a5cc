import type { SchemaMigration } from './schema-migration.ts';
import { accounts } from './migrations/001-accounts.ts';
import { agents } from './migrations/002-agents.ts';
import { sealingKey } from './migrations/003-sealing-key.ts';
import { indexes } from './migrations/004-indexes.ts';
import { people } from './migrations/011-people.ts';
import { cliLogin } from './migrations/012-cli-login.ts';
import { folders } from './migrations/021-folders.ts';
import { counts } from './migrations/022-counts.ts';
import { audit } from './migrations/101-audit.ts';
import { webhookLinks } from './migrations/102-webhook-links.ts';
import { dueWork } from './migrations/103-due-work.ts';
import { recordEvents } from './migrations/112-record-events.ts';
import { backgroundClaims } from './migrations/113-background-claims.ts';
import { policies } from './migrations/201-policies.ts';
import { proxies } from './migrations/202-proxies.ts';
import { oauth } from './migrations/301-oauth.ts';
import { recordOfSessions } from './migrations/302-record-of-sessions.ts';
import { proxyDelivery } from './migrations/401-proxy-delivery.ts';
import { providers } from './migrations/402-providers.ts';
import { refreshAttempts } from './migrations/403-refresh-attempts.ts';
import { proxyUpkeep } from './migrations/404-proxy-upkeep.ts';
import { recordOfProxies } from './migrations/405-record-of-proxies.ts';
import { webhookConduct } from './migrations/501-webhook-conduct.ts';
import { waitingRows } from './migrations/601-waiting-rows.ts';
import { rejectedCredentials } from './migrations/701-rejected-credentials.ts';

/** Every step of the schema in the order of its number. */
export const MIGRATIONS: readonly SchemaMigration[] = [
  accounts,
  agents,
  sealingKey,
  indexes,
  people,
  cliLogin,
  folders,
  counts,
  audit,
  webhookLinks,
  dueWork,
  recordEvents,
  backgroundClaims,
  policies,
  proxies,
  oauth,
  recordOfSessions,
  proxyDelivery,
  providers,
  refreshAttempts,
  proxyUpkeep,
  recordOfProxies,
  webhookConduct,
  waitingRows,
  rejectedCredentials,
];
