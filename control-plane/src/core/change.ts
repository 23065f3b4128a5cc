import type { Id } from '@svault/shared';
import { type Actor, eventBy } from './actor.ts';
import type { AuditEventType, NewAuditEvent } from './audit-event.ts';
import type { AuditStore } from './audit-store.ts';
import type { Origin } from './origin.ts';
import { orNotFound } from './errors.ts';
import type { Change } from './stores.ts';

/** Writes the event of a change. */
export const recordChange = (
  { actor, audit }: Pick<Change, 'actor' | 'audit'>,
  eventType: AuditEventType,
  facts?: Parameters<typeof eventBy>[2],
): Promise<void> => audit.append(eventBy(actor, eventType, facts));

/** A thing of the actor's account. @throws ApiError NOT_FOUND */
export const ownOf = async <T>(
  store: { get(vaultId: Id<'vlt'>, id: string): Promise<T | undefined> },
  { vaultId }: Pick<Actor, 'vaultId'>,
  id: string,
): Promise<T> => orNotFound(await store.get(vaultId, id));

/** Stores of a transaction whose events have the origin of its request, for changes that no signed-in principal makes. */
export function attributed<S extends { readonly audit: AuditStore }>(
  stores: S,
  origin: Origin | undefined,
): S {
  const { audit } = stores;
  const withOrigin = (event: NewAuditEvent): NewAuditEvent => ({ ...event, origin: event.origin ?? origin });
  return {
    ...stores,
    audit: {
      ...audit,
      append: (event: NewAuditEvent) => audit.append(withOrigin(event)),
      appendAll: (events: readonly NewAuditEvent[]) => audit.appendAll(events.map(withOrigin)),
    },
  };
}
