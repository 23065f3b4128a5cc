import type { Kysely } from 'kysely';
import type { Clock } from '@svault/shared';
import type { Stores, UnitOfWork } from '../unit-of-work.ts';
import { createAdminKeyStore } from './admin-key-store-kysely.ts';
import { createAgentStore } from './agent-store-kysely.ts';
import { createAuditStore } from './audit-store-kysely.ts';
import { createCliLoginStore } from './cli-login-store-kysely.ts';
import { createCliSessionStore } from './cli-session-store-kysely.ts';
import type { Engine } from './engine.ts';
import { createFolderStore } from './folder-store-kysely.ts';
import { createGrantStore } from './grant-store-kysely.ts';
import { createIdentityStore } from './identity-store-kysely.ts';
import { createLoginLinkStore } from './login-link-store-kysely.ts';
import { createOauthCodeStore } from './oauth-code-store-kysely.ts';
import { createOauthClientStore } from './oauth-client-store-kysely.ts';
import { createOauthSessionStore } from './oauth-session-store-kysely.ts';
import { createPasswordStore } from './password-store-kysely.ts';
import { createPolicyStore } from './policy-store-kysely.ts';
import { createProxyRemovalStore } from './proxy-removal-store-kysely.ts';
import { createProviderStore } from './provider-store-kysely.ts';
import { createProxyStore } from './proxy-store-kysely.ts';
import { createRefreshAttemptStore } from './refresh-attempt-store-kysely.ts';
import { createOverviewStore } from './overview-store-kysely.ts';
import { createQuotaStore } from './quota-store-kysely.ts';
import type { Schema } from './schema.ts';
import { createSetupStore } from './setup-store-kysely.ts';
import { createSessionStore } from './session-store-kysely.ts';
import { createTokenStore } from './token-store-kysely.ts';
import { createUserStore } from './user-store-kysely.ts';
import { createVaultStore } from './vault-store-kysely.ts';
import { createWebhookLinkStore } from './webhook-link-store-kysely.ts';

/** @param db a connection, where each call stands alone, or a transaction */
export function createStores(db: Kysely<Schema>, clock: Clock, engine: Engine): Stores {
  return {
    adminKeys: createAdminKeyStore(db),
    agents: createAgentStore(db),
    audit: createAuditStore(db, clock, engine.writeEvents),
    cliLogins: createCliLoginStore(db),
    cliSessions: createCliSessionStore(db),
    folders: createFolderStore(db),
    grants: createGrantStore(db),
    identities: createIdentityStore(db),
    loginLinks: createLoginLinkStore(db),
    oauthCodes: createOauthCodeStore(db),
    oauthClients: createOauthClientStore(db),
    oauthSessions: createOauthSessionStore(db),
    passwords: createPasswordStore(db),
    policies: createPolicyStore(db),
    providers: createProviderStore(db),
    proxies: createProxyStore(db),
    proxyRemovals: createProxyRemovalStore(db),
    overview: createOverviewStore(db),
    quotas: createQuotaStore(db),
    refreshAttempts: createRefreshAttemptStore(db),
    sessions: createSessionStore(db),
    setup: createSetupStore(db),
    tokens: createTokenStore(db),
    users: createUserStore(db),
    vaults: createVaultStore(db, engine.hold),
    webhookLinks: createWebhookLinkStore(db),
  };
}

export function createUnitOfWork(db: Kysely<Schema>, clock: Clock, engine: Engine): UnitOfWork {
  const runAcross: UnitOfWork['runAcross'] = (work) =>
    db.transaction().execute((transaction) => work(createStores(transaction, clock, engine)));
  return { run: (_vaultId, work) => runAcross(work), runAcross };
}
