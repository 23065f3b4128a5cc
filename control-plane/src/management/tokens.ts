import { type Clock, didYouMean, formatTime, shellWord } from '@svault/shared';
import type { TokenType } from '@svault/shared/schemas';
import { eventBy } from '../core/actor.ts';
import { ownOf, recordChange } from '../core/change.ts';
import { ApiError } from '../core/errors.ts';
import type { Change } from '../core/stores.ts';
import type { TokenChanges, TokenMetadata } from '../core/token.ts';
import { detachAll } from './policy-attachments.ts';

interface NewToken extends TokenChanges {
  readonly serviceName: string;
  readonly tokenType: TokenType;
}

/** @throws ApiError CONFLICT where the account has a token of this name */
export async function createToken(change: Change, input: NewToken, clock: Clock): Promise<TokenMetadata> {
  const now = formatTime(clock.now());
  const { serviceName, tokenType } = input;
  const token: TokenMetadata = {
    vaultId: change.actor.vaultId,
    serviceName,
    tokenType,
    displayName: input.displayName ?? serviceName,
    description: input.description ?? '',
    notes: input.notes ?? '',
    tags: input.tags ?? [],
    createdAt: now,
    updatedAt: now,
  };
  if (!(await change.tokens.add(token)))
    throw new ApiError(
      'CONFLICT',
      'There is a token of this name already. Choose another name, or replace its secret with a store ticket.',
    );
  await recordChange(change, 'TOKEN_CREATED', { serviceName, detail: { tokenType } });
  return token;
}

/**
 * Notes what the owner is about to store an approval for (`TokenStore.setApproval`).
 *
 * @param operations undefined: they do not say
 */
export async function declareApproval(
  { actor, tokens }: Pick<Change, 'actor' | 'tokens'>,
  serviceName: string,
  operations: readonly string[] | undefined,
): Promise<void> {
  if (operations !== undefined)
    await tokens.setApproval(actor.vaultId, serviceName, operations.toSorted().join(' ') || undefined);
}

export async function updateToken(
  change: Change,
  serviceName: string,
  changes: TokenChanges,
  clock: Clock,
): Promise<TokenMetadata> {
  const token = await ownOf(change.tokens, change.actor, serviceName);
  const members = Object.keys(changes);
  if (members.length === 0) return token;
  await change.tokens.update(token.vaultId, serviceName, changes, formatTime(clock.now()));
  await recordChange(change, 'TOKEN_UPDATED', { serviceName, detail: { members } });
  return ownOf(change.tokens, change.actor, serviceName);
}

/**
 * Deletes a token's metadata and removes it from its folders, with its policies and every grant for it, so that no agent has
 * access to a later token of the same name.
 *
 * @returns false where there was none
 */
export async function removeToken(change: Change, serviceName: string): Promise<boolean> {
  const { actor } = change;
  const folders = await change.folders.forgetToken(actor.vaultId, serviceName);
  if (!(await change.tokens.remove(actor.vaultId, serviceName))) return false;
  const grants = await change.grants.removeOfService(actor.vaultId, serviceName);
  await detachAll(change, { type: 'token', id: serviceName });
  await change.approvals.removeOf(change.actor.vaultId, { serviceName });
  const revoked = grants.map(({ id, agentId }) =>
    eventBy(actor, 'GRANT_REVOKED', { agentId, serviceName, detail: { grantId: id } }),
  );
  const detail = { grants: grants.length, folders };
  await change.audit.appendAll([...revoked, eventBy(actor, 'TOKEN_DELETED', { serviceName, detail })]);
  return true;
}

/** Of an account with more credentials, only these are suggested. */
const MAX_SUGGESTED_FROM = 2_000;

/**
 * Requires that the account has a credential of this name. Whether the webhook holds its secret is not asked.
 *
 * @throws ApiError INVALID_ARGUMENT that names those of like names and the next command
 */
export async function requireToken(
  { actor: { vaultId }, tokens }: Pick<Change, 'actor' | 'tokens'>,
  serviceName: string,
): Promise<void> {
  if ((await tokens.known(vaultId, [serviceName])).size > 0) return;
  const suggestion = didYouMean(serviceName, await tokens.names(vaultId, MAX_SUGGESTED_FROM));
  throw new ApiError(
    'INVALID_ARGUMENT',
    `There is no credential \`${serviceName}\`.${suggestion} Run \`svault add ${shellWord(serviceName)}\` to store it, or give ` +
      '`--allow-missing` (in the API `allowMissing`) to name it before it is there.',
    { details: { issues: [{ path: 'serviceName', message: 'names no credential of this account' }] } },
  );
}
