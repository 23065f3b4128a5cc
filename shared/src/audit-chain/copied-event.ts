import type { AuditEvent } from '../schemas/storage.ts';
import type { ChainedEvent } from './event-chain.ts';

/**
 * An event as a webhook keeps its copy (`audit.append`). Its place in the control plane's chain is left out: the webhook gives it
 * one in its own.
 */
export function copiedEvent(event: Omit<ChainedEvent, 'hash' | 'seq' | 'vaultId'>): AuditEvent {
  const { id, eventType, timestamp, outcome, agentId, proxyId, userId, serviceName, count, origin } = event;
  // Older events were written before their text was checked.
  const own = event.detail && withTakeableText(event.detail);
  // Every webhook keeps `detail`, and ignores members of events that it does not know (PROTOCOL.md TRN-11).
  const detail = origin === undefined ? own : { ...own, origin };
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

/** Replaces what some databases or JSON parsers reject: NUL and lone surrogates. */
export function withTakeableText<Detail extends Readonly<Record<string, unknown>>>(detail: Detail): Detail {
  if (!/\\u(0000|d[89a-f])/.test(JSON.stringify(detail))) return detail;
  const takeable = (value: unknown): unknown =>
    typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : value;
  const members = Object.entries(detail).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(takeable) : takeable(value),
  ]);
  return Object.fromEntries(members) as Detail;
}
