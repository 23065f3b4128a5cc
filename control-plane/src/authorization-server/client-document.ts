import { JsonRefused, parseWireObject } from '@svault/shared';
import type { EgressResponse } from '@svault/shared/egress';
import {
  type ClientMetadata,
  clientMetadataSchema,
  nameIn,
  pageIn,
  usableRedirects,
  wantsCodeFlow,
} from './client-metadata.ts';
import type { OauthClient } from '../core/oauth-client.ts';

/**
 * Why a client is not known by its metadata document. Closed.
 *
 * - `unreachable`: no complete answer of bearable size in time, or from an address that this service does not call
 * - `no_document`: another status than 200; a redirect is one
 * - `not_json`: another content type, or no JSON object
 * - `foreign_id`: it describes a client of another id
 * - `secret`: it names a secret, or a way to sign in with one, and everybody can read it
 * - `unusable`: no redirect URI that would be taken, or a flow that there is not
 */
export type DocumentProblem =
  'unreachable' | 'no_document' | 'not_json' | 'foreign_id' | 'secret' | 'unusable';

const JSON_TYPE = /^application\/(?:[a-z0-9.+-]+\+)?json[\t ]*(?:;|$)/i;
/** Ways of signing in that rest on a secret of both sides (draft-ietf-oauth-client-id-metadata-document, "Metadata Document"). */
const SYMMETRIC = /^client_secret_/;

/**
 * Reads what came from a client's address.
 *
 * @param address the client id: the document has to say the same, byte for byte
 */
export function readClientDocument(
  address: string,
  { status, headers, body }: EgressResponse,
): OauthClient | DocumentProblem {
  if (status !== 200) return 'no_document';
  const document = JSON_TYPE.test(headers['content-type'] ?? '') ? parse(body) : undefined;
  if (document === undefined) return 'not_json';
  if (document['client_id'] !== address) return 'foreign_id';
  const parsed = clientMetadataSchema.safeParse(document);
  if (!parsed.success) return 'unusable';
  const { data } = parsed;
  if (saysSecret(data)) return 'secret';
  const redirectUris = usableRedirects(data);
  if (redirectUris.length === 0 || !wantsCodeFlow(data)) return 'unusable';
  return { id: address, name: nameIn(data, new URL(address).host), uri: pageIn(data), redirectUris };
}

const saysSecret = (metadata: ClientMetadata): boolean =>
  'client_secret' in metadata ||
  'client_secret_expires_at' in metadata ||
  SYMMETRIC.test(metadata.token_endpoint_auth_method ?? '');

function parse(body: Buffer): Record<string, unknown> | undefined {
  try {
    return parseWireObject(body, { numbers: 'any' });
  } catch (error) {
    if (error instanceof JsonRefused) return undefined;
    throw error;
  }
}
