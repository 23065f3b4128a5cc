import { type Clock, formatTime } from '@svault/shared';
import type { TokenType } from '@svault/shared/schemas';
import { type Actor, eventBy } from '../core/actor.ts';
import { orNotFound, ApiError } from '../core/errors.ts';
import { detachAll } from './policy-attachments.ts';
import type { Stores } from '../core/stores.ts';
import type { TokenChanges, TokenMetadata } from '../core/token.ts';

type TokenStores = Pick<Stores, 'audit' | 'tokens'>;

interface NewToken extends TokenChanges {
  readonly serviceName: string;
  readonly tokenType: TokenType;
}

/** @throws ApiError CONFLICT where the account has a token of this name */
export async function createToken(
  stores: TokenStores,
  actor: Actor,
  input: NewToken,
  clock: Clock,
): Promise<TokenMetadata> {
  const now = formatTime(clock.now());
  const { serviceName, tokenType } = input;
  const token: TokenMetadata = {
    vaultId: actor.vaultId,
    serviceName,
    tokenType,
    displayName: input.displayName ?? serviceName,
    description: input.description ?? '',
    notes: input.notes ?? '',
    tags: input.tags ?? [],
    createdAt: now,
    updatedAt: now,
  };
  if (!(await stores.tokens.add(token)))
    throw new ApiError(
      'CONFLICT',
      'There is a token of this name already. Choose another name, or replace its secret with a store ticket.',
    );
  await stores.audit.append(eventBy(actor, 'TOKEN_CREATED', { serviceName, detail: { tokenType } }));
  return token;
}

export async function updateToken(
  stores: TokenStores,
  actor: Actor,
  serviceName: string,
  changes: TokenChanges,
  clock: Clock,
): Promise<TokenMetadata> {
  await tokenOf(stores, actor, serviceName);
  const members = Object.keys(changes);
  if (members.length > 0) {
    await stores.tokens.update(actor.vaultId, serviceName, changes, formatTime(clock.now()));
    await stores.audit.append(eventBy(actor, 'TOKEN_UPDATED', { serviceName, detail: { members } }));
  }
  return tokenOf(stores, actor, serviceName);
}

/**
 * Deletes a token's metadata and removes it from its folders, with its policies and every grant for it, so that no agent has
 * access to a later token of the same name.
 *
 * @returns false where there was none
 */
export async function removeToken(
  stores: Pick<Stores, 'audit' | 'folders' | 'grants' | 'policies' | 'tokens'>,
  actor: Actor,
  serviceName: string,
): Promise<boolean> {
  const folders = await stores.folders.forgetToken(actor.vaultId, serviceName);
  if (!(await stores.tokens.remove(actor.vaultId, serviceName))) return false;
  const grants = await stores.grants.removeOfService(actor.vaultId, serviceName);
  await detachAll(stores, actor, { type: 'token', id: serviceName });
  const revoked = grants.map(({ id, agentId }) =>
    eventBy(actor, 'GRANT_REVOKED', { agentId, serviceName, detail: { grantId: id } }),
  );
  const detail = { grants: grants.length, folders };
  await stores.audit.appendAll([...revoked, eventBy(actor, 'TOKEN_DELETED', { serviceName, detail })]);
  return true;
}

/** @throws ApiError NOT_FOUND */
export const tokenOf = async (
  stores: Pick<Stores, 'tokens'>,
  actor: Actor,
  serviceName: string,
): Promise<TokenMetadata> => orNotFound(await stores.tokens.get(actor.vaultId, serviceName));
