import { hash } from 'node:crypto';
import { CHAIN_START, canonicalJson } from './hash-chain.ts';

/** Where a request came from, as it is hashed; docs/operate/audit-log.md says what the members mean. */
interface ChainedOrigin {
  readonly requestId?: string | undefined;
  readonly channel?: string | undefined;
  readonly address?: string | undefined;
  readonly authenticatedBy?: string | undefined;
  readonly userAgent?: string | undefined;
}

/** The members of an event that its hash covers, and the hash. */
export interface ChainedEvent {
  /** The account: a chain is of one. */
  readonly vaultId: string;
  /** 1 for the first event of an account, then one more each. */
  readonly seq: number;
  readonly id: string;
  readonly eventType: string;
  /** `YYYY-MM-DDTHH:MM:SS.sssZ` */
  readonly timestamp: string;
  readonly outcome: string;
  readonly agentId?: string | undefined;
  readonly proxyId?: string | undefined;
  readonly userId?: string | undefined;
  readonly serviceName?: string | undefined;
  readonly count?: number | undefined;
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
  readonly origin?: ChainedOrigin | undefined;
  /** Over the event and all before it: 64 lower-case hex digits. */
  readonly hash: string;
}

/** The number and hash of a chain's last event. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

export const EMPTY_CHAIN: ChainHead = { seq: 0, hash: CHAIN_START };

/**
 * SHA-256 over the previous hash and the event's members in a fixed order, absent ones as null, and an absent origin left out: a tenth of the cost of
 * sorting members by name, on the path of every request. The exact form is in docs/operate/audit-log.md.
 *
 * @param previous the hash of the event before, {@link CHAIN_START} for the first
 * @returns 64 lower-case hex digits
 * @throws TypeError for a detail that {@link canonicalJson} does not take
 */
export function eventHash(previous: string, event: Omit<ChainedEvent, 'hash'>): string {
  return hash('sha256', `${previous}\n${eventText(event)}`, 'hex');
}

/** The text of an event that its hash covers: a JSON array. */
export function eventText(event: Omit<ChainedEvent, 'hash'>): string {
  const { beforeNumber, behindNumber } = hashedText(event);
  return `${beforeNumber}${event.seq}${behindNumber}`;
}

/**
 * Members that the hashed text has behind account and number, in this order, and that a webhook's copy has too. `hashedText`, which
 * each request runs, names them one by one, which is faster.
 */
export const COPIED_MEMBERS = [
  'id',
  'eventType',
  'timestamp',
  'outcome',
  'agentId',
  'proxyId',
  'userId',
  'serviceName',
  'count',
] as const;

/**
 * The hashed text, a JSON array, around the event's number. PostgreSQL assigns the number and hashes the text, and reads
 * the event's columns out of it (control-plane/src/store/migrations/011-audit.ts).
 */
export function hashedText(event: Omit<ChainedEvent, 'hash' | 'seq'>): {
  readonly beforeNumber: string;
  readonly behindNumber: string;
} {
  const members = [
    event.id,
    event.eventType,
    event.timestamp,
    event.outcome,
    event.agentId ?? null,
    event.proxyId ?? null,
    event.userId ?? null,
    event.serviceName ?? null,
    event.count ?? null,
    event.detail === undefined ? null : canonicalJson(event.detail),
    ...originMembers(event.origin),
  ];
  return {
    beforeNumber: `[${JSON.stringify(event.vaultId)},`,
    behindNumber: `,${JSON.stringify(members).slice(1)}`,
  };
}

const originMembers = (origin: ChainedOrigin | undefined): readonly (string | null)[] => {
  if (origin === undefined) return [];
  const { requestId, channel, address, authenticatedBy, userAgent } = origin;
  const members = [requestId, channel, address, authenticatedBy, userAgent].map((member) => member ?? null);
  // A row cannot tell an origin without members from none.
  return members.every((member) => member === null) ? [] : members;
};

/** The first event at which a chain is broken. */
export interface ChainBreak {
  readonly seq: number;
  /** `cut`: no event is left from here to the head; `added`: an event precedes the chain's start or follows its head. */
  readonly problem: 'missing' | 'changed' | 'cut' | 'added';
}

/**
 * Verifies events in ascending order, a page at a time.
 *
 * @param start the link before the first event: {@link EMPTY_CHAIN}, or the last link that retention removed
 * @returns the head after these events, or the first break
 */
export function followChain(start: ChainHead, events: readonly ChainedEvent[]): ChainHead | ChainBreak {
  let head = start;
  for (const event of events) {
    if (event.seq !== head.seq + 1) return { seq: head.seq + 1, problem: 'missing' };
    if (eventHash(head.hash, event) !== event.hash) return { seq: event.seq, problem: 'changed' };
    head = { seq: event.seq, hash: event.hash };
  }
  return head;
}
