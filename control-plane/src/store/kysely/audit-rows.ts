import type { Outcome } from '@svault/shared/schemas';
import type { AuditDetail, AuditEvent, AuditEventType } from '../../core/audit-event.ts';
import type { Channel } from '../../core/origin.ts';
import type { AuditEventRow } from '../schema.ts';

/** Every column, in the order of statements that bind by position. */
export const AUDIT_COLUMNS = [
  'vault_id',
  'seq',
  'id',
  'event_type',
  'outcome',
  'occurred_at',
  'agent_id',
  'proxy_id',
  'user_id',
  'service_name',
  'event_count',
  'detail',
  'request_id',
  'channel',
  'address',
  'authenticated_by',
  'user_agent',
  'hash',
] as const satisfies readonly (keyof AuditEventRow)[];

export function toAuditRow(event: AuditEvent): AuditEventRow {
  return {
    vault_id: event.vaultId,
    seq: event.seq,
    id: event.id,
    event_type: event.eventType,
    outcome: event.outcome,
    occurred_at: event.timestamp,
    agent_id: event.agentId ?? null,
    proxy_id: event.proxyId ?? null,
    user_id: event.userId ?? null,
    service_name: event.serviceName ?? null,
    event_count: event.count ?? null,
    detail: event.detail === undefined ? null : JSON.stringify(event.detail),
    request_id: event.origin?.requestId ?? null,
    channel: event.origin?.channel ?? null,
    address: event.origin?.address ?? null,
    authenticated_by: event.origin?.authenticatedBy ?? null,
    user_agent: event.origin?.userAgent ?? null,
    hash: event.hash,
  };
}

/** Absent members stay absent: the hash covers the present ones. */
export function fromAuditRow(row: AuditEventRow): AuditEvent {
  return {
    vaultId: row.vault_id,
    seq: row.seq,
    id: row.id,
    eventType: row.event_type as AuditEventType,
    outcome: row.outcome as Outcome,
    timestamp: row.occurred_at,
    ...(row.agent_id !== null && { agentId: row.agent_id }),
    ...(row.proxy_id !== null && { proxyId: row.proxy_id }),
    ...(row.user_id !== null && { userId: row.user_id }),
    ...(row.service_name !== null && { serviceName: row.service_name }),
    ...(row.event_count !== null && { count: row.event_count }),
    ...(row.detail !== null && { detail: readDetail(row.detail) }),
    ...originIn(row),
    hash: row.hash,
  };
}

function originIn(row: AuditEventRow): Pick<AuditEvent, 'origin'> {
  const { request_id, channel, address, authenticated_by, user_agent } = row;
  const members = {
    ...(request_id !== null && { requestId: request_id }),
    ...(channel !== null && { channel: channel as Channel }),
    ...(address !== null && { address }),
    ...(authenticated_by !== null && { authenticatedBy: authenticated_by }),
    ...(user_agent !== null && { userAgent: user_agent }),
  };
  return Object.keys(members).length === 0 ? {} : { origin: members };
}

/** Replaces a tampered detail, so that the rest of the log, and the proof of the tampering, can still be read. */
const UNREADABLE: AuditDetail = { unreadable: true };

function readDetail(text: string): AuditDetail {
  try {
    const detail: unknown = JSON.parse(text);
    return isDetail(detail) ? detail : UNREADABLE;
  } catch {
    return UNREADABLE;
  }
}

const isDetail = (value: unknown): value is AuditDetail =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every(
    (member) =>
      typeof member === 'string' ||
      typeof member === 'boolean' ||
      Number.isSafeInteger(member) ||
      (Array.isArray(member) && member.every((item) => typeof item === 'string')),
  );
