import type { Id } from '@svault/shared';
import type { TimeText } from './management-schema.ts';

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
  hash: string;
}

interface AuditChainRow {
  vault_id: Id<'vlt'>;
  head_seq: number;
  head_hash: string;
  start_seq: number;
  start_hash: string;
  shipped_seq: number;
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

interface WebhookLogHeadRow {
  vault_id: Id<'vlt'>;
  webhook_id: string;
  epoch: string;
  seq: number;
  hash: string;
  seen_at: TimeText;
}

/** Tables of the log and of the links to webhooks. */
export interface DecisionSchema {
  audit_events: AuditEventRow;
  audit_chains: AuditChainRow;
  webhook_links: WebhookLinkRow;
  webhook_log_heads: WebhookLogHeadRow;
}
