import { isId } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import type { DocumentProblem } from './client-document.ts';
import type { ClientDocuments } from './client-documents.ts';
import { isDocumentAddress } from './document-address.ts';
import type { OauthClient } from '../core/oauth-client.ts';

/** What a client id can be, before anything outside of this service is asked. */
export type KnownClient =
  | { readonly kind: 'registered'; readonly client: OauthClient }
  /** To be fetched, once somebody is there for whom it is done. */
  | { readonly kind: 'described'; fetch(): Promise<OauthClient | DocumentProblem> }
  | { readonly kind: 'unknown' };

/** Looks up whose client id this is. */
export async function findClient(
  clientId: string,
  {
    stores,
    documents,
  }: { readonly stores: Pick<Stores, 'oauthClients'>; readonly documents: ClientDocuments },
): Promise<KnownClient> {
  if (isDocumentAddress(clientId)) return { kind: 'described', fetch: () => documents.get(clientId) };
  const client = isId('ocl', clientId) ? await stores.oauthClients.find(clientId) : undefined;
  return client === undefined ? { kind: 'unknown' } : { kind: 'registered', client };
}
