import { type Clock, type Id, formatTime, newId } from '@svault/shared';
import { type Actor, eventBy } from '../core/actor.ts';
import { agentOf, agentToChange } from './manage-agents.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { notFound, refusal } from '../core/errors.ts';
import { folderOf } from './folders.ts';
import type { Stores } from '../core/stores.ts';
import { type ExpiryInput, grantExpiry } from './expiry.ts';
import { type Grant, type RefreshPolicy, isExpired } from '../core/grant.ts';

type GrantStores = Pick<Stores, 'agents' | 'audit' | 'grants'>;

interface GrantTerms extends ExpiryInput {
  readonly refreshPolicy?: RefreshPolicy | undefined;
}

export interface NewGrant extends GrantTerms {
  readonly serviceName: string;
}

export interface NewFolderGrants extends GrantTerms {
  readonly folderId: string;
}

/**
 * (none) → active. Nobody asks whether the webhook holds the credential (specification, "Grant").
 *
 * @throws AppError CONFLICT while the agent has a live grant for the service; an expired one makes way
 */
export async function createGrant(
  stores: GrantStores,
  actor: Actor,
  agentRef: string,
  input: NewGrant,
  clock: Clock,
): Promise<Grant> {
  const { id: agentId } = await agentToChange(stores, actor, agentRef);
  const { serviceName } = input;
  const grantOf = grantMaker({ actor, agentId, sourceGroupId: undefined }, input, clock.now());
  const grant = grantOf(serviceName);
  const former = await stores.grants.get(actor.vaultId, agentId, serviceName);
  if (former !== undefined && !isExpired(former, grant.createdAt))
    throw refusal('CONFLICT', 'This agent has a grant for this service already. Revoke it to make another.');
  await replace(stores, actor, former === undefined ? [] : [former], [grant]);
  return grant;
}

/**
 * A grant for each token that is in the folder now; tokens that come into it later are not granted (contract.md,
 * "Grants"). Tokens with a live grant keep that one and are named as skipped; expired grants make way.
 *
 * @throws AppError NOT_FOUND for an unknown agent or folder; CONFLICT for a deleted agent
 */
export async function createGrantsFromFolder(
  stores: GrantStores & Pick<Stores, 'folders'>,
  actor: Actor,
  agentRef: string,
  input: NewFolderGrants,
  clock: Clock,
): Promise<{ readonly grants: readonly Grant[]; readonly skipped: readonly string[] }> {
  const { id: agentId } = await agentToChange(stores, actor, agentRef);
  const { id: sourceGroupId, serviceNames } = await folderOf(stores, actor, input.folderId);
  const nowMs = clock.now();
  const now = formatTime(nowMs);
  const grantOf = grantMaker({ actor, agentId, sourceGroupId }, input, nowMs);
  const former = await stores.grants.ofServices(actor.vaultId, agentId, serviceNames);
  const expired = former.filter((grant) => isExpired(grant, now));
  const live = new Set(former.filter((grant) => !isExpired(grant, now)).map((grant) => grant.serviceName));
  const grants = serviceNames.filter((name) => !live.has(name)).map(grantOf);
  await replace(stores, actor, expired, grants);
  return { grants, skipped: serviceNames.filter((name) => live.has(name)) };
}

/** active (or expired) → removed; the agent's next request finds no grant. */
export async function revokeGrant(
  stores: GrantStores,
  actor: Actor,
  agentRef: string,
  serviceName: string,
): Promise<void> {
  const { id: agentId } = await agentOf(stores, actor, agentRef);
  const grant = await stores.grants.get(actor.vaultId, agentId, serviceName);
  if (grant === undefined) throw notFound();
  await stores.grants.remove(actor.vaultId, grant.id);
  await stores.audit.append(
    eventBy(actor, 'GRANT_REVOKED', { agentId, serviceName, detail: { grantId: grant.id } }),
  );
}

/** @returns makes grants of the same terms @throws AppError INVALID_ARGUMENT for an end that does not fit */
function grantMaker(
  target: {
    readonly actor: Actor;
    readonly agentId: Id<'agt'>;
    readonly sourceGroupId: Id<'fld'> | undefined;
  },
  terms: GrantTerms,
  nowMs: number,
): (serviceName: string) => Grant {
  const { actor, agentId, sourceGroupId } = target;
  const shared = {
    vaultId: actor.vaultId,
    agentId,
    grantExpiresAt: grantExpiry(terms, nowMs),
    refreshPolicy: terms.refreshPolicy ?? 'none',
    sourceGroupId,
    createdAt: formatTime(nowMs),
  } as const;
  return (serviceName) => ({ id: newId('grt'), serviceName, ...shared });
}

/** Expired grants make way for new ones; the events say both. */
async function replace(
  stores: Pick<Stores, 'audit' | 'grants'>,
  actor: Actor,
  expired: readonly Grant[],
  grants: readonly Grant[],
): Promise<void> {
  await stores.grants.removeAll(
    actor.vaultId,
    expired.map(({ id }) => id),
  );
  await stores.grants.addAll(grants);
  const ends = expired.map(({ id, agentId, serviceName }) =>
    eventBy(actor, 'GRANT_EXPIRED', { agentId, serviceName, detail: { grantId: id } }),
  );
  await stores.audit.appendAll([...ends, ...grants.map((grant) => grantCreated(actor, grant))]);
}

function grantCreated(actor: Actor, grant: Grant): NewAuditEvent {
  const { id, agentId, serviceName, grantExpiresAt, refreshPolicy, sourceGroupId } = grant;
  const detail = {
    grantId: id,
    grantExpiresAt: grantExpiresAt ?? 'never',
    refreshPolicy,
    ...(sourceGroupId !== undefined && { sourceGroupId }),
  };
  return eventBy(actor, 'GRANT_CREATED', { agentId, serviceName, detail });
}
