import type { Id } from '@svault/shared';
import { type Actor, eventBy } from './actor.ts';
import type { AuditEventType } from './audit-event.ts';
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
