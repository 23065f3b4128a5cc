import type { Generated } from 'kysely';
import type { Id } from '@svault/shared';
import type { CountedBucket } from '../core/activity.ts';
import type { AdminKey } from '../core/admin-key.ts';
import type { Agent } from '../core/agent.ts';
import type { Approval } from '../core/approval.ts';
import type { AuditCheckpoint } from '../core/audit-checkpoint.ts';
import type { CliLogin } from '../core/cli-login.ts';
import type { Folder } from '../core/folder.ts';
import type { Grant } from '../core/grant.ts';
import type { Notification, StoredChannel } from '../core/notification.ts';
import type { AccessToken, OauthCode } from '../core/oauth-session.ts';
import type { Policy, TargetType } from '../core/policy.ts';
import type { StoredProvider } from '../core/provider.ts';
import type { OwedRemoval, Proxy } from '../core/proxy.ts';
import type { RefreshAttempt } from '../core/refresh-attempt.ts';
import type { Session, SignInMethod } from '../core/session.ts';
import type { SetupMark } from '../core/setup.ts';
import type { TokenMetadata } from '../core/token.ts';
import type { Identity, LoginLink, User } from '../core/user.ts';
import type { Vault } from '../core/vault.ts';
import type { LogHead } from '../core/webhook-link.ts';
import type { RowOf } from './kysely/rows.ts';

/** `YYYY-MM-DDTHH:MM:SS.sssZ`: its order as text is its order in time. */
type TimeText = string;

/**
 * All tables, as Kysely types them. Row types do not leave `store/`. Columns keep their SQL names: Kysely's `CamelCasePlugin`
 * makes each read 10 to 20 % slower.
 */
export interface Schema {
  schema_migrations: { id: number; name: string; compatible_from: number | null; applied_by: string | null };
  /** `wrapped` is base64url. */
  sealing_keys: { id: number; wrapped: string };

  /** `revision` grows with each change that a decision may depend on (`changesDecisions`). */
  vaults: RowOf<Omit<Vault, 'accessRequests'>> & {
    revision: Generated<number>;
    access_requests: Generated<0 | 1>;
  };
  users: RowOf<User> & Named & { deleted_at: TimeText | null };
  /** `password_hash` is a PHC string; never the password. */
  passwords: { user_id: Id<'usr'>; password_hash: string; changed_at: TimeText };
  identities: RowOf<Identity> & { user_id: Id<'usr'>; created_at: TimeText };
  admin_keys: RowOf<AdminKey> & { key_hash: string };
  login_links: RowOf<LoginLink> & { token_hash: string };
  sessions: SessionRow;
  cli_sessions: CliSessionRow;
  cli_logins: CliLoginRow;
  /** What a user has seen of what needs attention, by `AttentionItem.id`. */
  attention_marks: { user_id: Id<'usr'>; item_id: string; seen_at: TimeText };
  setup_steps: RowOf<SetupMark> & { vault_id: Id<'vlt'>; marked_by: Id<'usr'> };

  /**
   * `key_wrapped` is base64url of the key under the data encryption key, `name_hash` SHA-256 of `nameKey` in hex; both null
   * once the agent is deleted.
   */
  agents: RowOf<Agent> & Named & { key_hash: string; key_wrapped: string | null; name_hash: string | null };
  grants: RowOf<Grant>;
  /** `approval` mirrors the webhook's record: names of operations, by a space; null where none is known to need one. */
  tokens: RowOf<TokenMetadata> & Named & { approval: string | null };
  folders: RowOf<Omit<Folder, 'serviceNames'>> & Named;
  folder_tokens: { vault_id: Id<'vlt'>; folder_id: Id<'fld'>; service_name: string };

  policies: RowOf<Policy> & Named;
  policy_attachments: PolicyTargetRow & { policy_id: Id<'pol'> };
  /** Uses of rules, and of approvals. */
  policy_usage: PolicyTargetRow & { rule_id: Id<'rul'> | Id<'apr'>; used: number };
  approvals: RowOf<Approval>;
  notification_channels: RowOf<StoredChannel> & {
    hour_started_at: TimeText | null;
    sent_in_hour: Generated<number>;
  };
  notifications: RowOf<Notification>;
  /** `key_wrapped` and `name_hash` as an agent's; null once the proxy is revoked. */
  proxies: RowOf<Proxy> & Named & { key_hash: string; key_wrapped: string | null; name_hash: string | null };
  proxy_removals: RowOf<OwedRemoval> & { due_at: TimeText };

  /** `target_hash` is SHA-256 of token URL and client id, in hex, because both may be longer than an index takes. */
  providers: RowOf<StoredProvider> & { target_hash: string };
  refresh_attempts: RowOf<RefreshAttempt> & { vault_id: Id<'vlt'>; service_name: string };

  oauth_clients: OauthClientRow;
  oauth_codes: RowOf<OauthCode>;
  oauth_sessions: OauthSessionRow;
  oauth_access_tokens: RowOf<AccessToken> & { session_id: Id<'ses'> };

  audit_events: AuditEventRow;
  audit_chains: AuditChainRow;
  audit_checkpoints: RowOf<AuditCheckpoint>;
  activity_counts: ActivityCountRow;
  webhook_links: WebhookLinkRow;
  webhook_log_heads: RowOf<LogHead> & { vault_id: Id<'vlt'>; webhook_id: string; seen_at: TimeText };
}

/** `nameKey` of the name (of a user the address, of a token the service name), which lists are searched by. */
interface Named {
  name_key: string;
}

type SessionRow = RowOf<Omit<Session, 'agentId' | 'clientId' | 'method'>> & {
  /** Null means `link`. */
  method: SignInMethod | null;
  token_hash: string;
};

/** The refresh token before the current one; null before the first refresh. */
interface FormerRefreshRow {
  former_refresh_hash: string | null;
  rotated_at: TimeText | null;
  rotation_seed_wrapped: string | null;
}

interface CliSessionRow extends FormerRefreshRow {
  session_id: Id<'ses'>;
  refresh_hash: string;
  /** Null once it has ended. */
  access_hash: string | null;
  access_expires_at: TimeText;
  former_access_hash: string | null;
  former_access_expires_at: TimeText | null;
}

/** Of rows that an unauthenticated client may write. */
interface WaitingRow {
  address_group: Generated<string>;
  bytes: Generated<number>;
  asked_at: TimeText | null;
}

type CliLoginRow = RowOf<CliLogin> &
  WaitingRow & { vault_id: Id<'vlt'> | null; user_id: Id<'usr'> | null; code_hash: string | null };

interface OauthClientRow extends WaitingRow {
  id: Id<'ocl'>;
  name: string;
  client_uri: string | null;
  /** JSON: a list of texts. */
  redirect_uris: string;
  created_at: TimeText;
  last_used_at: TimeText;
}

interface OauthSessionRow extends FormerRefreshRow {
  session_id: Id<'ses'>;
  agent_id: Id<'agt'>;
  client_id: string;
  audience: string;
  code_hash: string | null;
  /** Null where the session cannot be refreshed. */
  refresh_hash: string | null;
}

interface PolicyTargetRow {
  vault_id: Id<'vlt'>;
  target_type: TargetType;
  /** An agent's or proxy's id, or a token's service name. */
  target_id: string;
}

export interface AuditEventRow {
  vault_id: Id<'vlt'>;
  seq: number;
  id: Id<'evt'>;
  event_type: string;
  outcome: string;
  occurred_at: TimeText;
  agent_id: Id<'agt'> | null;
  proxy_id: Id<'prx'> | null;
  user_id: Id<'usr'> | null;
  service_name: string | null;
  event_count: number | null;
  /** JSON object. */
  detail: string | null;
  request_id: string | null;
  channel: string | null;
  address: string | null;
  authenticated_by: string | null;
  user_agent: string | null;
  hash: string;
}

interface AuditChainRow {
  vault_id: Id<'vlt'>;
  head_seq: number;
  head_hash: string;
  start_seq: number;
  start_hash: string;
  shipped_seq: number;
  /** The last event that is in `activity_counts`. */
  counted_seq: Generated<number>;
}

interface ActivityCountRow {
  vault_id: Id<'vlt'>;
  /** '' for the whole account. */
  agent_id: string;
  bucket: CountedBucket;
  starts_at: TimeText;
  outcome: string;
  requests: number;
}

export interface WebhookLinkRow {
  vault_id: Id<'vlt'>;
  webhook_id: string;
  url: string;
  key_id: string;
  /** base64url, like the pending one's. */
  key_wrapped: string;
  pending_key_id: string | null;
  pending_key_wrapped: string | null;
  /** JSON array of strings. */
  capabilities: string;
  bound_at: TimeText;
  bound_by: Id<'usr'>;
  last_seen_at: TimeText | null;
  latency_ms: number | null;
  aside_until: TimeText | null;
  aside_reason: string | null;
  aside_strikes: number;
}
