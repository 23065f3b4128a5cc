import type { AdminKeyStore } from './accounts/admin-key-store.ts';
import type { LoginLinkStore } from './accounts/login-link-store.ts';
import type { SessionStore } from './accounts/session-store.ts';
import type { UserStore } from './accounts/user-store.ts';
import type { AgentStore } from './agents/agent-store.ts';
import type { AuditStore } from './audit/audit-store.ts';
import type { GrantStore } from './grants/grant-store.ts';
import type { TokenStore } from './tokens/token-store.ts';
import type { VaultStore } from './vault/vault-store.ts';
import type { WebhookLinkStore } from './webhook-link/webhook-link-store.ts';

/** All stores over one connection: the plain one, where each call stands alone, or one transaction's. */
export interface Stores {
  readonly adminKeys: AdminKeyStore;
  readonly agents: AgentStore;
  readonly audit: AuditStore;
  readonly grants: GrantStore;
  readonly loginLinks: LoginLinkStore;
  readonly sessions: SessionStore;
  readonly tokens: TokenStore;
  readonly users: UserStore;
  readonly vaults: VaultStore;
  readonly webhookLinks: WebhookLinkStore;
}

/** How a change and its audit event become one: both are there after a crash, or neither. */
export interface UnitOfWork {
  /**
   * Runs `work` in one transaction, durable when the promise resolves, undone when it rejects. Transactions of one
   * process follow one another.
   *
   * @param work awaits nothing but the stores it is given: other I/O would hold up every other change
   */
  run<T>(work: (stores: Stores) => Promise<T>): Promise<T>;
}
