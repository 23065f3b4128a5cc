import { type Clock, formatTime, hashKey, isId } from '@svault/shared';
import type { OauthClient } from '../core/oauth-client.ts';
import type { Stores } from '../core/stores.ts';
import {
  type ClientDocuments,
  type DocumentProblem,
  isDocumentAddress,
} from './client-metadata-documents.ts';
import { oauthTokens } from './oauth-session.ts';

const DAY_MS = 24 * 3_600_000;
/** A use is noted once a day, so that an hourly refresh costs no hourly write. */
const NOTED_FOR_MS = DAY_MS;
const NEVER_USED_KEPT_MS = 30 * DAY_MS;
const UNUSED_KEPT_MS = 180 * DAY_MS;

/** The client of a `client_id`, as far as this service knows it without a call to anywhere else. */
type KnownClient =
  | { readonly kind: 'registered'; readonly client: OauthClient }
  /** By a metadata document, which is fetched only once a user is signed in. */
  | { readonly kind: 'described'; fetch(): Promise<OauthClient | DocumentProblem> }
  | { readonly kind: 'unknown' };

export async function findClient(
  clientId: string,
  sources: { readonly stores: Pick<Stores, 'oauthClients'>; readonly documents: ClientDocuments },
): Promise<KnownClient> {
  const { stores, documents } = sources;
  if (isDocumentAddress(clientId)) return { kind: 'described', fetch: () => documents.get(clientId) };
  const client = isId('ocl', clientId) ? await stores.oauthClients.find(clientId) : undefined;
  return client === undefined ? { kind: 'unknown' } : { kind: 'registered', client };
}

/**
 * Identifies the client of a token request (RFC 6749 section 3.2.1; clients are public and authenticate by nothing).
 * @returns `known`: it is registered, or the code or refresh token was issued to its metadata document. `unproven`: its id
 *   may be the address of a document, and what it presents was not issued to it. `unknown`: no client has this id
 */
export async function identifyClient(
  stores: Pick<Stores, 'oauthClients' | 'oauthCodes' | 'oauthSessions'>,
  clientId: string,
  presented: { readonly code: string | undefined; readonly refreshToken: string | undefined },
): Promise<'known' | 'unproven' | 'unknown'> {
  if (isId('ocl', clientId))
    return (await stores.oauthClients.find(clientId)) === undefined ? 'unknown' : 'known';
  if (!isDocumentAddress(clientId)) return 'unknown';
  const { code, refreshToken } = presented;
  const ofCode = code === undefined ? undefined : await stores.oauthCodes.find(hashKey(code));
  if (ofCode?.clientId === clientId) return 'known';
  if (refreshToken === undefined || !oauthTokens.isRefreshToken(refreshToken)) return 'unproven';
  const session = await stores.oauthSessions.find(oauthTokens.familyHashOf(refreshToken));
  return session?.clientId === clientId ? 'known' : 'unproven';
}

/** Notes that a client got a code or tokens. Nothing is stored of a client with a metadata document. */
export async function noteClientUse(
  stores: Pick<Stores, 'oauthClients'>,
  clientId: string,
  clock: Clock,
): Promise<void> {
  if (!isId('ocl', clientId)) return;
  const now = clock.now();
  await stores.oauthClients.touch(clientId, formatTime(now), formatTime(now - NOTED_FOR_MS));
}

/** Notes that a user is being asked about a client, so that a flood of registrations does not evict it meanwhile. */
export async function noteClientAsked(
  stores: Pick<Stores, 'oauthClients'>,
  clientId: string,
  clock: Clock,
): Promise<void> {
  if (isId('ocl', clientId)) await stores.oauthClients.noteAsked(clientId, formatTime(clock.now()));
}

/** Deletes clients that were not used for long; one that comes back registers anew. */
export async function evictUnusedClients(stores: Pick<Stores, 'oauthClients'>, clock: Clock): Promise<void> {
  const now = clock.now();
  await stores.oauthClients.removeUnused({
    lastUsedAt: formatTime(now - UNUSED_KEPT_MS),
    neverUsedSince: formatTime(now - NEVER_USED_KEPT_MS),
  });
}
