import type { AuditEvent as WireAuditEvent } from '@svault/shared/schemas';
import type { AuditEvent } from './audit-event.ts';

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
    ...(detail !== undefined && { detail }),
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
    bytes += Buffer.byteLength(JSON.stringify(toWireEvent(event))) + 1;
    if (index > 0 && (bytes > MAX_BATCH_BYTES || index === MAX_BATCH_EVENTS)) return events.slice(0, index);
  }
  return events;
}
