import type { Id } from '@svault/shared';
import type { AuditEventType, NewAuditEvent } from './audit-event.ts';
import type { Origin } from './origin.ts';

/** Roles in an account, weakest first. The owner is an admin. */
export const ROLES = ['member', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** The principal of an authenticated management request. */
export interface Actor {
  readonly vaultId: Id<'vlt'>;
  readonly userId: Id<'usr'>;
  readonly role: Role;
  readonly via: 'adminKey' | 'session';
  /** The `adk_` or `ses_` id that authenticated it. */
  readonly credentialId: Id<'adk'> | Id<'ses'>;
  /** Of the request. */
  readonly origin?: Origin | undefined;
}

/** The event of a change by a user. */
export function eventBy(
  { vaultId, userId, origin }: Pick<Actor, 'origin' | 'userId' | 'vaultId'>,
  eventType: AuditEventType,
  facts: Pick<NewAuditEvent, 'agentId' | 'proxyId' | 'serviceName' | 'detail'> = {},
): NewAuditEvent {
  return { vaultId, userId, eventType, outcome: 'success', origin, ...facts };
}
