import { type AuditEvent, EVENT_NAMES, type EventType, OUTCOME_NAMES } from './event-words.ts';

/** What of the log is shown, as it stands in the address. Conditions are joined by AND. */
export interface LogFilter {
  readonly agent?: string | undefined;
  readonly credential?: string | undefined;
  readonly event?: EventType | undefined;
  readonly outcome?: AuditEvent['outcome'] | undefined;
  readonly address?: string | undefined;
  readonly request?: string | undefined;
  /** Inclusive, RFC 3339. */
  readonly from?: string | undefined;
  /** Exclusive. */
  readonly to?: string | undefined;
}

/** The filter in an address; what is no filter is left out. */
export function readFilter(search: Record<string, unknown>): LogFilter {
  const textOf = (name: string): string | undefined => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const timeOf = (name: string): string | undefined =>
    Number.isNaN(Date.parse(textOf(name) ?? '')) ? undefined : textOf(name);
  return {
    agent: textOf('agent'),
    credential: textOf('credential'),
    event: EVENT_NAMES.find(([type]) => type === search['event'])?.[0],
    outcome: OUTCOME_NAMES.find(([outcome]) => outcome === search['outcome'])?.[0],
    address: textOf('address'),
    request: textOf('request'),
    from: timeOf('from'),
    to: timeOf('to'),
  };
}

/** Whether a filter leaves nothing out. */
export const isEmpty = (filter: LogFilter): boolean =>
  Object.values(filter).every((value) => value === undefined);

/** A filter as the API names it. */
export function filterQuery({ agent, credential, event, outcome, address, request, from, to }: LogFilter) {
  return {
    ...(agent && { agentId: agent }),
    ...(credential && { serviceName: credential }),
    ...(event && { eventType: event }),
    ...(outcome && { outcome }),
    ...(address && { address }),
    ...(request && { requestId: request }),
    ...(from && { from: new Date(from).toISOString() }),
    ...(to && { to: new Date(to).toISOString() }),
  };
}

/** Whether a filter lets an event through, as the API would. */
export function isMatch(event: AuditEvent, filter: LogFilter): boolean {
  const { agent, credential, event: type, outcome, address, request, from, to } = filter;
  const { origin = {} } = event;
  const at = Date.parse(event.timestamp);
  return (
    (agent ?? event.agentId) === event.agentId &&
    (credential ?? event.serviceName) === event.serviceName &&
    (type ?? event.eventType) === event.eventType &&
    (outcome ?? event.outcome) === event.outcome &&
    (address ?? origin.address) === origin.address &&
    (request ?? origin.requestId) === origin.requestId &&
    at >= Date.parse(from ?? event.timestamp) &&
    (to === undefined || at < Date.parse(to))
  );
}
