import type { AuditEvent as WireAuditEvent } from '@svault/shared/schemas';
import { type AuditEvent, withTakeableText } from '../core/audit-event.ts';

/** protocol.md 5.3: most events of one `audit.append`. */
export const MAX_BATCH_EVENTS = 500;
/** protocol.md section 2: the body within 1 MiB; what stands around the events fits into the difference. */
const MAX_BATCH_BYTES = 1024 * 1024 - 4096;

/** An event as it travels. Its place in our chain stays here: the webhook gives it one in its own. */
export function toWireEvent(event: AuditEvent): WireAuditEvent {
  const { id, eventType, timestamp, outcome, agentId, proxyId, userId, serviceName, count, detail } = event;
  return {
    id,
    eventType,
    timestamp,
    outcome,
    ...(agentId !== undefined && { agentId }),
    ...(proxyId !== undefined && { proxyId }),
    ...(userId !== undefined && { userId }),
    ...(serviceName !== undefined && { serviceName }),
    ...(count !== undefined && { count }),
    // Events from before this was looked at when they are written.
    ...(detail !== undefined && { detail: withTakeableText(detail) }),
  };
}

/**
 * As many of the events, from the first on, as one `audit.append` takes; at least one.
 *
 * @param events in the order of their numbers
 */
export function cutBatch(events: readonly AuditEvent[]): readonly AuditEvent[] {
  let bytes = 0;
  for (const [index, event] of events.entries()) {
    bytes += bytesAtMost(event);
    if (index > 0 && (bytes > MAX_BATCH_BYTES || index === MAX_BATCH_EVENTS)) return events.slice(0, index);
  }
  return events;
}

/** Ids, type, time and member names, generously. */
const FIXED_BYTES = 640;
/** JSON writes one character as up to six (`\\u0000`), UTF-8 as up to three. */
const BYTES_PER_CHARACTER = 6;

/** An upper bound, since writing an event only to measure it would double the cost of shipping it. */
function bytesAtMost({ serviceName = '', detail }: AuditEvent): number {
  const detailBytes = detail === undefined ? 0 : Buffer.byteLength(JSON.stringify(detail));
  return FIXED_BYTES + serviceName.length * BYTES_PER_CHARACTER + detailBytes;
}
