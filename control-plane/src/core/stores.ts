import type { Id } from '@svault/shared';
import type { Actor } from './actor.ts';
import type { ActivityStore } from './activity.ts';
import type { AdminKeyStore } from './admin-key.ts';
import type { IdentityStore, LoginLinkStore, PasswordStore, UserStore } from './user.ts';
import type { CliSessionStore, SessionStore } from './session.ts';
import type { AgentStore } from './agent.ts';
import type { ApprovalStore } from './approval.ts';
import type { AttentionStore } from './attention.ts';
import type { AuditCheckpointStore } from './audit-checkpoint.ts';
import type { AuditStore } from './audit-store.ts';
import type { CliLoginStore } from './cli-login.ts';
import type { FolderStore } from './folder.ts';
import type { NameStore } from './name.ts';
import type { GrantStore } from './grant.ts';
import type { OauthCodeStore, OauthSessionStore } from './oauth-session.ts';
import type { OauthClientStore } from './oauth-client.ts';
import type { PolicyStore } from './policy.ts';
import type { ProxyRemovalStore, ProxyStore } from './proxy.ts';
import type { ProviderStore } from './provider.ts';
import type { ReachStore } from './reach.ts';
import type { RefreshAttemptStore } from './refresh-attempt.ts';
import type { QuotaStore } from './quotas.ts';
import type { NotificationStore } from './notification.ts';
import type { OverviewStore } from './overview.ts';
import type { SetupStore } from './setup.ts';
import type { TokenStore } from './token.ts';
import type { VaultStore } from './vault.ts';
import type { WebhookLinkStore } from './webhook-link.ts';

/** All stores over one connection: the plain one, where each call is its own transaction, or that of one transaction. */
export interface Stores {
  readonly activity: ActivityStore;
  readonly adminKeys: AdminKeyStore;
  readonly agents: AgentStore;
  readonly approvals: ApprovalStore;
  readonly attention: AttentionStore;
  readonly audit: AuditStore;
  readonly auditCheckpoints: AuditCheckpointStore;
  readonly cliLogins: CliLoginStore;
  readonly cliSessions: CliSessionStore;
  readonly folders: FolderStore;
  readonly grants: GrantStore;
  readonly identities: IdentityStore;
  readonly loginLinks: LoginLinkStore;
  readonly names: NameStore;
  readonly notifications: NotificationStore;
  readonly oauthCodes: OauthCodeStore;
  readonly oauthClients: OauthClientStore;
  readonly oauthSessions: OauthSessionStore;
  readonly passwords: PasswordStore;
  readonly policies: PolicyStore;
  readonly providers: ProviderStore;
  readonly proxies: ProxyStore;
  readonly proxyRemovals: ProxyRemovalStore;
  readonly overview: OverviewStore;
  readonly quotas: QuotaStore;
  readonly reach: ReachStore;
  readonly refreshAttempts: RefreshAttemptStore;
  readonly sessions: SessionStore;
  readonly setup: SetupStore;
  readonly tokens: TokenStore;
  readonly users: UserStore;
  readonly vaults: VaultStore;
  readonly webhookLinks: WebhookLinkStore;
}

/** The stores of one transaction, and the principal whose change it is. */
export interface Change extends Stores {
  readonly actor: Actor;
}

/** Runs work in one transaction. Its maker has settled the account, the actor and the conditions. */
export type Transaction = <T>(work: (change: Change) => Promise<T>) => Promise<T>;

export interface UnitOfWork {
  /**
   * Runs `work` in one transaction, durable when the promise resolves, undone when it rejects: a change and its audit event
   * are both durable, or neither. Transactions of one account run one after the other, over all processes.
   *
   * @param vaultId the account that it reads and changes
   * @param work awaits nothing but its stores: other I/O would block every other change. It may run again from its
   *   beginning after a conflict with another account's transaction
   */
  run<T>(vaultId: Id<'vlt'>, work: (stores: Stores) => Promise<T>): Promise<T>;

  /**
   * The same where `work` has to read to find the account: it calls `stores.vaults.lockForUpdate` as soon as it knows, and
   * then reads again.
   */
  runAcross<T>(work: (stores: Stores) => Promise<T>): Promise<T>;
}
