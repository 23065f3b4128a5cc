import { type Clock, formatTime, newId } from '@svault/shared';
import { type Actor, changeBy } from '../accounts/actor.ts';
import { agentOf, agentToChange } from '../agents/manage-agents.ts';
import { notFound, refusal } from '../errors.ts';
import type { Stores } from '../unit-of-work.ts';
import { type ExpiryInput, grantExpiry } from './expiry.ts';
import { type Grant, type RefreshPolicy, isExpired } from './grant.ts';

type GrantStores = Pick<Stores, 'agents' | 'audit' | 'grants'>;

export interface NewGrant extends ExpiryInput {
  readonly serviceName: string;
  readonly refreshPolicy?: RefreshPolicy | undefined;
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
  const nowMs = clock.now();
  const { serviceName } = input;
  const grant: Grant = {
    id: newId('grt'),
    vaultId: actor.vaultId,
    agentId,
    serviceName,
    grantExpiresAt: grantExpiry(input, nowMs),
    refreshPolicy: input.refreshPolicy ?? 'none',
    sourceGroupId: undefined,
    createdAt: formatTime(nowMs),
  };
  const former = await stores.grants.get(actor.vaultId, agentId, serviceName);
  if (former !== undefined) await makeWay(stores, actor, former, grant.createdAt);
  await stores.grants.add(grant);
  const detail = {
    grantId: grant.id,
    grantExpiresAt: grant.grantExpiresAt ?? 'never',
    refreshPolicy: grant.refreshPolicy,
  };
  await stores.audit.append(changeBy(actor, 'GRANT_CREATED', { agentId, serviceName, detail }));
  return grant;
}

async function makeWay(
  stores: Pick<Stores, 'audit' | 'grants'>,
  actor: Actor,
  former: Grant,
  now: string,
): Promise<void> {
  if (!isExpired(former, now)) throw refusal('CONFLICT', 'This agent has a grant for this service already.');
  const { id, agentId, serviceName } = former;
  await stores.grants.remove(actor.vaultId, id);
  await stores.audit.append(
    changeBy(actor, 'GRANT_EXPIRED', { agentId, serviceName, detail: { grantId: id } }),
  );
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
    changeBy(actor, 'GRANT_REVOKED', { agentId, serviceName, detail: { grantId: grant.id } }),
  );
}
