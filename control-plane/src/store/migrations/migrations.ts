import type { SchemaMigration } from './schema-migration.ts';
import { accounts } from './001-accounts.ts';
import { agents } from './002-agents.ts';
import { sealingKey } from './003-sealing-key.ts';
import { indexes } from './004-indexes.ts';
import { people } from './011-people.ts';
import { cliLogin } from './012-cli-login.ts';
import { folders } from './021-folders.ts';
import { counts } from './022-counts.ts';
import { audit } from './101-audit.ts';
import { webhookLinks } from './102-webhook-links.ts';
import { dueWork } from './103-due-work.ts';
import { recordEvents } from './112-record-events.ts';
import { backgroundClaims } from './113-background-claims.ts';
import { policies } from './201-policies.ts';
import { proxies } from './202-proxies.ts';
import { oauth } from './301-oauth.ts';
import { proxyDelivery } from './401-proxy-delivery.ts';
import { providers } from './402-providers.ts';
import { refreshAttempts } from './403-refresh-attempts.ts';
import { proxyUpkeep } from './404-proxy-upkeep.ts';
import { webhookConduct } from './501-webhook-conduct.ts';
import { waitingRows } from './601-waiting-rows.ts';
import { rejectedCredentials } from './701-rejected-credentials.ts';

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
  proxyDelivery,
  providers,
  refreshAttempts,
  proxyUpkeep,
  webhookConduct,
  waitingRows,
  rejectedCredentials,
];
