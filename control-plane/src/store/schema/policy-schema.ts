import type { Id } from '@svault/shared';
import type { ProxyStatus, UpstreamAuthType } from '../../core/proxy.ts';
import type { Flag, TimeText } from './management-schema.ts';
import type { TargetType } from '../../core/policy.ts';

interface PolicyRow {
  id: Id<'pol'>;
  vault_id: Id<'vlt'>;
  name: string;
  enabled: Flag;
  /** JSON array of rules, each with its `id` and `type`. */
  rules: string;
  created_at: TimeText;
  updated_at: TimeText;
}

interface PolicyAttachmentRow {
  vault_id: Id<'vlt'>;
  target_type: TargetType;
  /** An agent's or proxy's id, or a token's service name. */
  target_id: string;
  policy_id: Id<'pol'>;
}

interface PolicyUsageRow {
  vault_id: Id<'vlt'>;
  target_type: TargetType;
  target_id: string;
  rule_id: Id<'rul'>;
  /** A string from PostgreSQL. */
  used: number;
}

interface ProxyRow {
  id: Id<'prx'>;
  vault_id: Id<'vlt'>;
  name: string;
  upstream_url: string;
  upstream_auth_type: UpstreamAuthType;
  service_name: string | null;
  agent_id: Id<'agt'> | null;
  /** JSON object of header name → template. */
  header_templates: string | null;
  status: ProxyStatus;
  key_hash: string;
  key_prefix: string;
  /** base64url of the proxy's key under the data encryption key. */
  key_wrapped: string | null;
  created_at: TimeText;
  revoked_at: TimeText | null;
  last_used_at: TimeText | null;
  revision: number;
  /** The webhook that has the settings, and their revision. */
  delivered_as: string | null;
}

interface ProxyRemovalRow {
  vault_id: Id<'vlt'>;
  webhook_id: string;
  proxy_id: Id<'prx'>;
  due_at: TimeText;
  tries: number;
}

/** Tables of policies and of the proxies they may be attached to. */
export interface PolicySchema {
  policies: PolicyRow;
  policy_attachments: PolicyAttachmentRow;
  policy_usage: PolicyUsageRow;
  proxies: ProxyRow;
  proxy_removals: ProxyRemovalRow;
}
