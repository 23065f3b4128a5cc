import type { Generated } from 'kysely';
import type { Id } from '@svault/shared';
import type { TokenType } from '@svault/shared/schemas';
import type { Role } from '../../core/actor.ts';
import type { SessionKind, SignInMethod } from '../../core/session.ts';
import type { AgentStatus } from '../../core/agent.ts';
import type { RefreshPolicy } from '../../core/grant.ts';
import type { SetupState, SetupStep } from '../../core/setup.ts';

/** 0 or 1: SQLite binds no booleans. */
export type Flag = 0 | 1;
/** `YYYY-MM-DDTHH:MM:SS.sssZ`: its order as text is its order in time. */
export type TimeText = string;

interface VaultRow {
  id: Id<'vlt'>;
  created_at: TimeText;
  locked_at: TimeText | null;
  /** Grows with each change that a decision may depend on (`changesDecisions`). */
  revision: Generated<number>;
}

interface UserRow {
  id: Id<'usr'>;
  vault_id: Id<'vlt'>;
  email: string;
  role: Role;
  is_owner: Flag;
  created_at: TimeText;
  deleted_at: TimeText | null;
}

interface AdminKeyRow {
  id: Id<'adk'>;
  vault_id: Id<'vlt'>;
  user_id: Id<'usr'>;
  name: string;
  origin: 'settings' | 'api';
  key_hash: string;
  key_prefix: string;
  created_at: TimeText;
  last_used_at: TimeText | null;
}

interface LoginLinkRow {
  token_hash: string;
  vault_id: Id<'vlt'>;
  user_id: Id<'usr'>;
  expires_at: TimeText;
}

interface SessionRow {
  id: Id<'ses'>;
  vault_id: Id<'vlt'>;
  user_id: Id<'usr'>;
  kind: SessionKind;
  /** Null means `link`. */
  method: SignInMethod | null;
  token_hash: string;
  client: string;
  created_at: TimeText;
  last_used_at: TimeText;
  expires_at: TimeText;
}

interface AgentRow {
  id: Id<'agt'>;
  vault_id: Id<'vlt'>;
  owner_id: Id<'usr'>;
  name: string;
  description: string;
  status: AgentStatus;
  mcp_enabled: Flag;
  sealing_key_thumbprint: string | null;
  key_hash: string;
  key_prefix: string;
  /** base64url of the agent's key under the data encryption key; null once the agent is deleted. */
  key_wrapped: string | null;
  created_at: TimeText;
  last_used_at: TimeText | null;
}

interface GrantRow {
  id: Id<'grt'>;
  vault_id: Id<'vlt'>;
  agent_id: Id<'agt'>;
  service_name: string;
  grant_expires_at: TimeText | null;
  refresh_policy: RefreshPolicy;
  source_group_id: string | null;
  created_at: TimeText;
}

interface TokenRow {
  vault_id: Id<'vlt'>;
  service_name: string;
  token_type: TokenType;
  display_name: string;
  description: string;
  notes: string;
  /** JSON array of strings. */
  tags: string;
  created_at: TimeText;
  updated_at: TimeText;
  upstream_rejected_at: TimeText | null;
}

interface FolderRow {
  id: Id<'fld'>;
  vault_id: Id<'vlt'>;
  name: string;
  created_at: TimeText;
  updated_at: TimeText;
}

interface SetupStepRow {
  vault_id: Id<'vlt'>;
  step: SetupStep;
  state: SetupState;
  marked_at: TimeText;
  marked_by: Id<'usr'>;
}

export interface ManagementSchema {
  vaults: VaultRow;
  users: UserRow;
  admin_keys: AdminKeyRow;
  login_links: LoginLinkRow;
  sessions: SessionRow;
  agents: AgentRow;
  grants: GrantRow;
  tokens: TokenRow;
  folders: FolderRow;
  setup_steps: SetupStepRow;
  folder_tokens: { vault_id: Id<'vlt'>; folder_id: Id<'fld'>; service_name: string };
  /** `wrapped` is base64url. */
  sealing_keys: { id: number; wrapped: string };
}
