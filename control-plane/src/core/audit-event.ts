import { type Id, formatTime, newTimeOrderedId } from '@svault/shared';
import { withTakeableText } from '@svault/shared/audit-chain';
import { type Outcome, secretFieldIn } from '@svault/shared/schemas';
import type { Origin } from './origin.ts';

/** Every type of audit event. */
export const AUDIT_EVENT_TYPES = [
  'AGENT_CREDENTIAL_ACCESS',
  'PROXY_CREDENTIAL_USE',
  'OWNER_CREDENTIAL_ACCESS',
  'AGENT_CREATED',
  'AGENT_UPDATED',
  'AGENT_SUSPENDED',
  'AGENT_RESUMED',
  'AGENT_DELETED',
  'KEY_REVEALED',
  'KEY_ROTATED',
  'KEY_REVOKED',
  'GRANT_CREATED',
  'GRANT_RENEWED',
  'GRANT_REVOKED',
  'GRANT_EXPIRED',
  'TOKEN_CREATED',
  'TOKEN_UPDATED',
  'TOKEN_DELETED',
  'TOKEN_STORE_TICKET',
  'TOKEN_REFRESHED',
  'POLICY_CREATED',
  'POLICY_UPDATED',
  'POLICY_DELETED',
  'POLICY_ATTACHED',
  'POLICY_DETACHED',
  'APPROVAL_REQUESTED',
  'APPROVAL_APPROVED',
  'APPROVAL_DENIED',
  'PROXY_CREATED',
  'PROXY_UPDATED',
  'PROXY_DELETED',
  'FOLDER_CREATED',
  'FOLDER_UPDATED',
  'FOLDER_DELETED',
  'MEMBER_CREATED',
  'MEMBER_UPDATED',
  'MEMBER_DELETED',
  'PROVIDER_CREATED',
  'PROVIDER_UPDATED',
  'PROVIDER_DELETED',
  'NOTIFICATION_CREATED',
  'NOTIFICATION_DELETED',
  'ADMIN_KEY_CREATED',
  'ADMIN_KEY_UPDATED',
  'ADMIN_KEY_DELETED',
  'VAULT_LOCKED',
  'VAULT_UNLOCKED',
  'WEBHOOK_BOUND',
  'WEBHOOK_UNBOUND',
  'WEBHOOK_SECRET_ROTATED',
  'WEBHOOK_LOG_CONTRADICTION',
  'CHECKPOINT_REFUSED',
  'LOGIN',
  'SESSION_REVOKED',
  'OAUTH_SESSION_CREATED',
  'OAUTH_SESSION_REVOKED',
  'ACCOUNT_EXPORTED',
  'ACCOUNT_UPDATED',
] as const;

export type AuditEventType = (typeof AUDIT_EVENT_TYPES)[number];

const CREDENTIAL_REQUESTS: readonly AuditEventType[] = ['AGENT_CREDENTIAL_ACCESS', 'PROXY_CREDENTIAL_USE'];

/** Whether an event reports a request for a credential. A rejection by the upstream is a second event of one that was forwarded. */
export const isCredentialRequest = ({
  eventType,
  detail,
}: Pick<NewAuditEvent, 'detail' | 'eventType'>): boolean =>
  CREDENTIAL_REQUESTS.includes(eventType) && detail?.['code'] !== 'UPSTREAM_UNAUTHORIZED';

/**
 * Events of uses, sign-ins, reads and of what no decision about an access reads: folders, providers, notifications, admin keys,
 * members who come, browser sessions and metadata of tokens; and of agents, grants and proxies that are new: what was allowed
 * without them is allowed with them.
 */
const EVENTS_WITHOUT_CHANGE: ReadonlySet<AuditEventType> = new Set<AuditEventType>([
  'AGENT_CREDENTIAL_ACCESS',
  'APPROVAL_REQUESTED',
  'PROXY_CREDENTIAL_USE',
  'OWNER_CREDENTIAL_ACCESS',
  'KEY_REVEALED',
  'TOKEN_STORE_TICKET',
  'TOKEN_REFRESHED',
  'WEBHOOK_LOG_CONTRADICTION',
  'CHECKPOINT_REFUSED',
  'LOGIN',
  'OAUTH_SESSION_CREATED',
  'ACCOUNT_EXPORTED',
  'AGENT_CREATED',
  'GRANT_CREATED',
  'PROXY_CREATED',
  'FOLDER_CREATED',
  'FOLDER_UPDATED',
  'FOLDER_DELETED',
  'PROVIDER_CREATED',
  'PROVIDER_UPDATED',
  'PROVIDER_DELETED',
  'NOTIFICATION_CREATED',
  'NOTIFICATION_DELETED',
  'ADMIN_KEY_CREATED',
  'ADMIN_KEY_UPDATED',
  'ADMIN_KEY_DELETED',
  'MEMBER_CREATED',
  'MEMBER_UPDATED',
  'SESSION_REVOKED',
  'TOKEN_CREATED',
  'TOKEN_UPDATED',
]);

/**
 * Whether an event may report a change that decisions depend on. The transaction that appends such an event raises the
 * account's revision, so that no access that was decided before the change is written after it (`AccessPrecondition`).
 */
export const changesDecisions = (eventType: AuditEventType): boolean => !EVENTS_WITHOUT_CHANGE.has(eventType);

const EVENTS_THAT_MAY_END_SIGN_INS: ReadonlySet<AuditEventType> = new Set<AuditEventType>([
  'MEMBER_UPDATED',
  'MEMBER_DELETED',
  'ADMIN_KEY_UPDATED',
  'ADMIN_KEY_DELETED',
  'SESSION_REVOKED',
]);

/** Whether an event may report that a principal has lost the right to read the account. */
export const mayEndSignIns = (eventType: AuditEventType): boolean =>
  EVENTS_THAT_MAY_END_SIGN_INS.has(eventType);

type DetailValue = string | number | boolean | readonly string[];

/** Flat, integers only, and never under the name of a secret field. */
export type AuditDetail = Readonly<Record<string, DetailValue>>;

/** An event before it has an id and a time. */
export interface NewAuditEvent {
  readonly vaultId: Id<'vlt'>;
  readonly eventType: AuditEventType;
  /** `success` of a credential access means that a ticket was issued. */
  readonly outcome: Outcome;
  readonly agentId?: Id<'agt'> | undefined;
  readonly proxyId?: Id<'prx'> | undefined;
  readonly userId?: Id<'usr'> | undefined;
  readonly serviceName?: string | undefined;
  /** How many equal events this one stands for; absent means one. */
  readonly count?: number | undefined;
  readonly detail?: AuditDetail | undefined;
  /** Undefined where no request caused the event. */
  readonly origin?: Origin | undefined;
}

/** An event before it has its place in the chain. */
export interface StampedAuditEvent extends NewAuditEvent {
  readonly id: Id<'evt'>;
  /** `YYYY-MM-DDTHH:MM:SS.sssZ` */
  readonly timestamp: string;
}

/** An event of the log: `seq` counts up by one per vault, `hash` covers the event and all before it. */
export interface AuditEvent extends StampedAuditEvent {
  readonly seq: number;
  /** 64 lower-case hex digits. */
  readonly hash: string;
}

/** With the rest of an event this stays well below the 8 KiB that `audit.append` takes (PROTOCOL.md 5.3). */
const MAX_DETAIL_CHARACTERS = 1024;
/** Texts of a longer detail are truncated to this; ids are shorter. */
const SHORT_TEXT_CHARACTERS = 100;

/**
 * Gives an event its id and time, and a detail that a webhook accepts: an event that it rejected would block every
 * later one.
 *
 * @throws TypeError for a detail named like a secret field (a mistake in our code)
 */
export function stampEvent(event: NewAuditEvent, nowMs: number): StampedAuditEvent {
  const stamped = { ...event, id: newTimeOrderedId('evt', nowMs), timestamp: formatTime(nowMs) };
  if (event.detail === undefined) return stamped;
  return { ...stamped, detail: shippableDetail(event.detail) };
}

function shippableDetail(detail: AuditDetail): AuditDetail {
  const secretName = secretFieldIn(detail);
  if (secretName !== undefined) throw new TypeError(`an audit detail cannot be named ${secretName}`);
  const takeable = withTakeableText(detail);
  if (fits(takeable)) return takeable;
  // A truncated list would pass for the whole one.
  const members = Object.entries(takeable).filter(([, value]) => typeof value !== 'object');
  const short = {
    ...Object.fromEntries(members.map(([name, value]) => [name, shortened(value)])),
    truncated: true,
  };
  return fits(short) ? short : { truncated: true };
}

const fits = (detail: AuditDetail): boolean => JSON.stringify(detail).length <= MAX_DETAIL_CHARACTERS;

function shortened(value: DetailValue): DetailValue {
  if (typeof value !== 'string' || value.length <= SHORT_TEXT_CHARACTERS) return value;
  // The cut may split a surrogate pair.
  return `${value.slice(0, SHORT_TEXT_CHARACTERS).toWellFormed()}…`;
}
