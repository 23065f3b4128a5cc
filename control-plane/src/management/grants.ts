import { type Clock, type Id, formatTime, newId, parseTime } from '@svault/shared';
import { type Actor, eventBy } from '../core/actor.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { invalidArgument, orNotFound, ApiError } from '../core/errors.ts';
import { type Grant, type RefreshPolicy, isExpired } from '../core/grant.ts';
import type { Stores } from '../core/stores.ts';
import { agentOf, existingAgentOf } from './agents.ts';
import { folderOf } from './folders.ts';

type GrantStores = Pick<Stores, 'agents' | 'audit' | 'grants'>;

interface GrantTerms extends ExpiryInput {
  readonly refreshPolicy?: RefreshPolicy | undefined;
}

interface NewGrant extends GrantTerms {
  readonly serviceName: string;
}

interface NewFolderGrants extends GrantTerms {
  readonly folderId: string;
}

/**
 * (none) → active. The webhook need not have the credential yet. An expired grant for the service is replaced.
 *
 * @throws ApiError INVALID_ARGUMENT; NOT_FOUND for an unknown agent; CONFLICT for a deleted one, and for a live grant
 */
export async function createGrant(
  stores: GrantStores,
  actor: Actor,
  agentRef: string,
  input: NewGrant,
  clock: Clock,
): Promise<Grant> {
  const { id: agentId } = await existingAgentOf(stores, actor, agentRef);
  const { serviceName } = input;
  const grantOf = grantMaker({ actor, agentId, sourceGroupId: undefined }, input, clock.now());
  const grant = grantOf(serviceName);
  const previous = await stores.grants.get(actor.vaultId, agentId, serviceName);
  if (previous !== undefined && !isExpired(previous, grant.createdAt))
    throw new ApiError(
      'CONFLICT',
      'This agent has a grant for this service already. Revoke it to make another.',
    );
  await replace(stores, actor, previous === undefined ? [] : [previous], [grant]);
  return grant;
}

/**
 * Creates a grant for each token that is in the folder now, and for none that is added later. Tokens with a live grant are
 * skipped; expired grants are replaced.
 *
 * @throws ApiError NOT_FOUND for an unknown agent or folder; CONFLICT for a deleted agent
 */
export async function createGrantsFromFolder(
  stores: GrantStores & Pick<Stores, 'folders'>,
  actor: Actor,
  agentRef: string,
  input: NewFolderGrants,
  clock: Clock,
): Promise<{ readonly grants: readonly Grant[]; readonly skipped: readonly string[] }> {
  const { id: agentId } = await existingAgentOf(stores, actor, agentRef);
  const { id: sourceGroupId, serviceNames } = await folderOf(stores, actor, input.folderId);
  const nowMs = clock.now();
  const now = formatTime(nowMs);
  const grantOf = grantMaker({ actor, agentId, sourceGroupId }, input, nowMs);
  const previous = await stores.grants.ofServices(actor.vaultId, agentId, serviceNames);
  const expired = previous.filter((grant) => isExpired(grant, now));
  const live = new Set(previous.filter((grant) => !isExpired(grant, now)).map((grant) => grant.serviceName));
  const grants = serviceNames.filter((name) => !live.has(name)).map(grantOf);
  await replace(stores, actor, expired, grants);
  return { grants, skipped: serviceNames.filter((name) => live.has(name)) };
}

/** active or expired → deleted, from the agent's next request on. */
export async function revokeGrant(
  stores: GrantStores,
  actor: Actor,
  agentRef: string,
  serviceName: string,
): Promise<void> {
  const { id: agentId } = await agentOf(stores, actor, agentRef);
  const grant = orNotFound(await stores.grants.get(actor.vaultId, agentId, serviceName));
  await stores.grants.remove(actor.vaultId, grant.id);
  await stores.audit.append(
    eventBy(actor, 'GRANT_REVOKED', { agentId, serviceName, detail: { grantId: grant.id } }),
  );
}

/** @returns makes grants of the same terms @throws ApiError INVALID_ARGUMENT for a bad expiry */
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

/** Replaces expired grants by new ones, with the events of both. */
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

export const MIN_GRANT_SECONDS = 3_600;
export const MAX_GRANT_SECONDS = 30 * 24 * 3_600;

/** A client computes an instant with its own clock, before the request arrives. */
const CLOCK_SKEW_MS = 60_000;

interface ExpiryInput {
  readonly expiresInSeconds?: number | undefined;
  /** ISO 8601; null means "until revoked", like its absence. */
  readonly grantExpiresAt?: string | null | undefined;
}

/**
 * When a new grant expires, from either form.
 *
 * @param nowMs epoch milliseconds
 * @returns an ISO 8601 instant; undefined for "until revoked"
 * @throws ApiError INVALID_ARGUMENT for both forms at once, and for an end outside 1 hour to 30 days from now
 */
export function grantExpiry(input: ExpiryInput, nowMs: number): string | undefined {
  const { expiresInSeconds, grantExpiresAt } = input;
  if (expiresInSeconds !== undefined && grantExpiresAt !== undefined)
    throw invalidArgument([{ path: 'grantExpiresAt', message: 'give this or expiresInSeconds, not both' }]);
  if (expiresInSeconds !== undefined) return formatTime(nowMs + expiresInSeconds * 1_000);
  if (grantExpiresAt === undefined || grantExpiresAt === null) return undefined;
  const endMs = parseTime(grantExpiresAt) ?? Number.NaN;
  const durationMs = endMs - nowMs;
  const fits =
    durationMs >= MIN_GRANT_SECONDS * 1_000 - CLOCK_SKEW_MS &&
    durationMs <= MAX_GRANT_SECONDS * 1_000 + CLOCK_SKEW_MS;
  if (!fits)
    throw invalidArgument([{ path: 'grantExpiresAt', message: 'must be 1 hour to 30 days from now' }]);
  return formatTime(endMs);
}
