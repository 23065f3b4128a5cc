import type { Kysely } from 'kysely';
import type { Clock } from '@svault/shared';
import type { Stores } from '../../core/stores.ts';
import { createActivityStore } from './activity-store.ts';
import { createAdminKeyStore } from './admin-key-store.ts';
import { createAgentStore } from './agent-store.ts';
import { createApprovalStore } from './approval-store.ts';
import { createAttentionStore } from './attention-store.ts';
import { createAuditCheckpointStore } from './audit-checkpoint-store.ts';
import { createAuditStore } from './audit-store.ts';
import { createCliLoginStore } from './cli-login-store.ts';
import { createCliSessionStore, createSessionStore } from './session-store.ts';
import type { Engine } from '../engine.ts';
import { createFolderStore } from './folder-store.ts';
import { createGrantStore } from './grant-store.ts';
import { createNameStore } from './name-store.ts';
import { createNotificationStore } from './notification-store.ts';
import {
  createIdentityStore,
  createLoginLinkStore,
  createPasswordStore,
  createUserStore,
} from './user-store.ts';
import { createOauthCodeStore, createOauthSessionStore } from './oauth-session-store.ts';
import { createOauthClientStore } from './oauth-client-store.ts';
import { createPolicyStore } from './policy-store.ts';
import { createProxyRemovalStore, createProxyStore } from './proxy-store.ts';
import { createProviderStore } from './provider-store.ts';
import { createReachStore } from './reach-store.ts';
import { createRefreshAttemptStore } from './refresh-attempt-store.ts';
import { createOverviewStore, createQuotaStore } from './count-stores.ts';
import type { Schema } from '../schema.ts';
import { createSetupStore, createVaultStore } from './vault-store.ts';
import { createTokenStore } from './token-store.ts';
import { createWebhookLinkStore } from './webhook-link-store.ts';

/** @param db a connection, where each call is its own transaction, or a transaction */
export function createStores(db: Kysely<Schema>, clock: Clock, engine: Engine): Stores {
  return {
    activity: createActivityStore(db),
    adminKeys: createAdminKeyStore(db),
    agents: createAgentStore(db),
    approvals: createApprovalStore(db),
    attention: createAttentionStore(db),
    audit: createAuditStore(db, clock, engine.writeEvents),
    auditCheckpoints: createAuditCheckpointStore(db),
    cliLogins: createCliLoginStore(db),
    cliSessions: createCliSessionStore(db),
    folders: createFolderStore(db),
    grants: createGrantStore(db),
    identities: createIdentityStore(db),
    loginLinks: createLoginLinkStore(db),
    names: createNameStore(db),
    notifications: createNotificationStore(db),
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
    reach: createReachStore(db),
    refreshAttempts: createRefreshAttemptStore(db),
    sessions: createSessionStore(db),
    setup: createSetupStore(db),
    tokens: createTokenStore(db),
    users: createUserStore(db),
    vaults: createVaultStore(db, engine.lockForUpdate),
    webhookLinks: createWebhookLinkStore(db),
  };
}
