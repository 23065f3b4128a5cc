import * as z from 'zod';
import { redirectKindOf } from './redirect-uri.ts';
import { shownName } from '../core/oauth-client.ts';

/** Of all redirect URIs together; a client has a few of some 50 characters each. */
const MAX_REDIRECT_CHARACTERS = 4_000;
const fitsARow = (uris: readonly string[]): boolean =>
  uris.reduce((sum, { length }) => sum + length, 0) <= MAX_REDIRECT_CHARACTERS;

/** Client metadata (RFC 7591 section 2), registered or of a document; unknown members are ignored as it requires. */
export const clientMetadataSchema = z.looseObject({
  redirect_uris: z.array(z.string()).min(1).max(20).refine(fitsARow),
  client_name: z.string().max(1_000).optional(),
  client_uri: z.string().optional(),
  grant_types: z.array(z.string()).max(20).optional(),
  response_types: z.array(z.string()).max(20).optional(),
  token_endpoint_auth_method: z.string().optional(),
});
type ClientMetadata = z.infer<typeof clientMetadataSchema>;

export const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;
export const RESPONSE_TYPES = ['code'] as const;
/** RFC 7591 section 2: a client that holds no secret. */
export const AUTH_METHOD = 'none';
/** The only scope. */
export const SCOPE = 'mcp';

/** Whether the client can use the authorization code flow, which is the default of both members (RFC 7591 section 2). */
export const wantsCodeFlow = ({ grant_types, response_types }: ClientMetadata): boolean =>
  (grant_types?.includes('authorization_code') ?? true) && (response_types?.includes('code') ?? true);

/** The redirect URIs that this server accepts, each once. */
export const usableRedirects = ({ redirect_uris }: ClientMetadata): string[] =>
  [...new Set(redirect_uris)].filter((uri) => redirectKindOf(uri) !== undefined);

/** @param otherwise the name of a client without one */
export const nameIn = ({ client_name }: ClientMetadata, otherwise: string): string =>
  shownName(client_name ?? '') ?? otherwise;

const MAX_PAGE_CHARACTERS = 500;

/** The client's home page; undefined unless it is an https address. */
export function pageIn({ client_uri }: ClientMetadata): string | undefined {
  if (client_uri === undefined || client_uri.length > MAX_PAGE_CHARACTERS) return undefined;
  if (!URL.canParse(client_uri)) return undefined;
  const { protocol, href } = new URL(client_uri);
  return protocol === 'https:' ? href : undefined;
}
