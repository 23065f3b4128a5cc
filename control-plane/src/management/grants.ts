import { type Clock, type Id, formatTime, newId, parseTime, shellWord } from '@svault/shared';
import { eventBy } from '../core/actor.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { ownOf, recordChange } from '../core/change.ts';
import { ApiError, invalidArgument, orNotFound } from '../core/errors.ts';
import { type Grant, type RefreshPolicy, isExpired } from '../core/grant.ts';
import type { Change } from '../core/stores.ts';
import { existingAgentOf } from './agents.ts';
import { requireToken } from './tokens.ts';

export interface GrantTerms extends ExpiryInput {
  readonly refreshPolicy?: RefreshPolicy | undefined;
}

/**
 * (none) → active. The webhook need not have the credential yet, and with `allowMissing` it need not be named here either. An
 * expired grant for the service is replaced.
 *
 * @throws ApiError INVALID_ARGUMENT, also for a name of no credential; NOT_FOUND for an unknown agent; CONFLICT for a deleted one, and for a live grant
 */
export async function createGrant(
  change: Change,
  agentRef: string,
  {
    serviceName,
    allowMissing = false,
    ...terms
  }: GrantTerms & { readonly serviceName: string; readonly allowMissing?: boolean | undefined },
  clock: Clock,
): Promise<Grant> {
  const { id: agentId, name } = await existingAgentOf(change, change.actor, agentRef);
  if (!allowMissing) await requireToken(change, serviceName);
  const target = { agentId, sourceGroupId: undefined };
  const [grant] = (await grantEach(change, [serviceName], target, terms, clock)).grants;
  if (grant === undefined)
    throw new ApiError(
      'CONFLICT',
      `Agent \`${name}\` has a grant for \`${serviceName}\` already. To change when it ends, run ` +
        `\`svault grant ${shellWord(name)} ${shellWord(serviceName)} --renew --expires 1h\`.`,
    );
  return grant;
}

/**
 * Creates a grant for each token that is in the folder now, and for none that is added later.
 *
 * @throws ApiError INVALID_ARGUMENT; NOT_FOUND for an unknown agent or folder; CONFLICT for a deleted agent
 */
export async function createGrantsFromFolder(
  change: Change,
  agentRef: string,
  { folderId, ...terms }: GrantTerms & { readonly folderId: string },
  clock: Clock,
): Promise<Granted> {
  const { id: agentId } = await existingAgentOf(change, change.actor, agentRef);
  const { id: sourceGroupId, serviceNames } = await ownOf(change.folders, change.actor, folderId);
  return grantEach(change, serviceNames, { agentId, sourceGroupId }, terms, clock);
}

/**
 * active or expired → active, with another expiry. The grant keeps its id, its folder, and its refresh policy unless another
 * one is named.
 *
 * @throws ApiError INVALID_ARGUMENT, also where no expiry is named; NOT_FOUND where the agent or its grant is unknown;
 *   CONFLICT for a deleted agent
 */
export async function renewGrant(
  change: Change,
  agentRef: string,
  { serviceName, ...terms }: GrantTerms & { readonly serviceName: string },
  clock: Clock,
): Promise<Grant> {
  const { vaultId, id: agentId } = await existingAgentOf(change, change.actor, agentRef);
  const before = orNotFound(await change.grants.get(vaultId, agentId, serviceName));
  // A grant "until revoked" has to be asked for: it must not come of an option that was forgotten.
  if (terms.expiresInSeconds === undefined && terms.grantExpiresAt === undefined)
    throw invalidArgument([
      { path: 'grantExpiresAt', message: 'give this (null: until revoked) or expiresInSeconds' },
    ]);
  const grantExpiresAt = grantExpiry(terms, clock.now());
  const grant: Grant = {
    ...before,
    grantExpiresAt,
    refreshPolicy: terms.refreshPolicy ?? before.refreshPolicy,
  };
  await change.grants.updateTerms(grant);
  await change.audit.append(grantEvent(change.actor, 'GRANT_RENEWED', grant));
  return grant;
}

/** active or expired → deleted, from the agent's next request on, with what was approved under it. */
export async function revokeGrant(change: Change, agentRef: string, serviceName: string): Promise<void> {
  const { vaultId, id: agentId } = await ownOf(change.agents, change.actor, agentRef);
  const { id: grantId } = orNotFound(await change.grants.get(vaultId, agentId, serviceName));
  await change.grants.remove(vaultId, grantId);
  await change.approvals.removeOf(vaultId, { callerId: agentId, serviceName });
  await recordChange(change, 'GRANT_REVOKED', { agentId, serviceName, detail: { grantId } });
}

interface Granted {
  readonly grants: readonly Grant[];
  /** Services with a live grant, which stays. */
  readonly skipped: readonly string[];
}

/** Creates grants of the same terms, and replaces expired ones. @throws ApiError INVALID_ARGUMENT for a bad expiry */
async function grantEach(
  change: Change,
  serviceNames: readonly string[],
  target: Pick<Grant, 'agentId'> & { readonly sourceGroupId: Id<'fld'> | undefined },
  terms: GrantTerms,
  clock: Clock,
): Promise<Granted> {
  const { actor } = change;
  const nowMs = clock.now();
  const createdAt = formatTime(nowMs);
  const shared = {
    ...target,
    vaultId: actor.vaultId,
    grantExpiresAt: grantExpiry(terms, nowMs),
    refreshPolicy: terms.refreshPolicy ?? 'none',
    createdAt,
  } as const;
  const previous = await change.grants.ofServices(actor.vaultId, target.agentId, serviceNames);
  const expired = previous.filter((grant) => isExpired(grant, createdAt));
  const live = new Set(
    previous.filter((grant) => !isExpired(grant, createdAt)).map((grant) => grant.serviceName),
  );
  const grants = serviceNames
    .filter((serviceName) => !live.has(serviceName))
    .map((serviceName): Grant => ({ id: newId('grt'), serviceName, ...shared }));
  await change.grants.removeAll(
    actor.vaultId,
    expired.map(({ id }) => id),
  );
  await change.grants.addAll(grants);
  const ends = expired.map(({ id, agentId, serviceName }) =>
    eventBy(actor, 'GRANT_EXPIRED', { agentId, serviceName, detail: { grantId: id } }),
  );
  await change.audit.appendAll([
    ...ends,
    ...grants.map((grant) => grantEvent(actor, 'GRANT_CREATED', grant)),
  ]);
  return { grants, skipped: serviceNames.filter((name) => live.has(name)) };
}

function grantEvent(
  actor: Change['actor'],
  eventType: 'GRANT_CREATED' | 'GRANT_RENEWED',
  grant: Grant,
): NewAuditEvent {
  const { id, agentId, serviceName, grantExpiresAt, refreshPolicy, sourceGroupId } = grant;
  const detail = {
    grantId: id,
    grantExpiresAt: grantExpiresAt ?? 'never',
    refreshPolicy,
    ...(sourceGroupId !== undefined && { sourceGroupId }),
  };
  return eventBy(actor, eventType, { agentId, serviceName, detail });
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
 * When a grant expires, from either form.
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
