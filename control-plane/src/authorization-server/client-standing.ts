import { hashKey, isId } from '@svault/shared';
import { isDocumentAddress } from './document-address.ts';
import type { Stores } from '../core/stores.ts';
import { oauthTokens } from './session-tokens.ts';

/**
 * What is known of a client that shows a code or a refresh token. `known`: it registered here, or its metadata document is
 * the one that what it shows was given to. `stranger`: its id may be the address of a document, but nothing shown is its
 * own. `unknown`: nobody registered, and no such address.
 */
export type ClientStanding = 'known' | 'stranger' | 'unknown';

export async function standingOfClient(
  stores: Pick<Stores, 'oauthClients' | 'oauthCodes' | 'oauthSessions'>,
  clientId: string,
  shown: { readonly code: string | undefined; readonly refreshToken: string | undefined },
): Promise<ClientStanding> {
  if (isId('ocl', clientId))
    return (await stores.oauthClients.find(clientId)) === undefined ? 'unknown' : 'known';
  if (!isDocumentAddress(clientId)) return 'unknown';
  const { code, refreshToken } = shown;
  const ofCode = code === undefined ? undefined : await stores.oauthCodes.find(hashKey(code));
  if (ofCode?.clientId === clientId) return 'known';
  if (refreshToken === undefined || !oauthTokens.isRefreshToken(refreshToken)) return 'stranger';
  const session = await stores.oauthSessions.find(oauthTokens.familyHashOf(refreshToken));
  return session?.clientId === clientId ? 'known' : 'stranger';
}
