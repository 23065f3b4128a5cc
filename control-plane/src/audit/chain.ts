import { type ChainHead, eventHash } from '@svault/shared/audit-chain';
import type { AuditEvent, StampedAuditEvent } from '../core/audit-event.ts';

/**
 * Appends an event to its vault's chain. The hash covers every member of the event, its number and its vault: a row that
 * is changed, moved, removed or copied into another vault breaks the chain.
 */
export function linkEvent(head: ChainHead, event: StampedAuditEvent): AuditEvent {
  const numbered = { ...event, seq: head.seq + 1 };
  return { ...numbered, hash: eventHash(head.hash, numbered) };
}
