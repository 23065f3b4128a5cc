import { z } from 'zod';
import { redirectKindOf } from './redirect-uri.ts';
import { shownName } from '../core/oauth-client.ts';

/** Of all redirect URIs together; clients have a few of some 50 characters each. */
const MAX_REDIRECT_CHARACTERS = 4_000;
const fitsARow = (uris: readonly string[]): boolean =>
  uris.reduce((sum, { length }) => sum + length, 0) <= MAX_REDIRECT_CHARACTERS;

/**
 * What a client says about itself, at the registration endpoint and in a metadata document (RFC 7591 section 2). Members that
 * are not here are ignored, as section 2 asks: this server makes nothing of them.
 */
export const clientMetadataSchema = z.looseObject({
  redirect_uris: z.array(z.string()).min(1).max(20).refine(fitsARow),
  client_name: z.string().max(1_000).optional(),
  client_uri: z.string().optional(),
  grant_types: z.array(z.string()).max(20).optional(),
  response_types: z.array(z.string()).max(20).optional(),
  token_endpoint_auth_method: z.string().optional(),
});
export type ClientMetadata = z.infer<typeof clientMetadataSchema>;

export const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;
export const RESPONSE_TYPES = ['code'] as const;
/** RFC 7591 section 2: a client that holds no secret. */
export const AUTH_METHOD = 'none';
/** The one scope that there is. */
export const SCOPE = 'mcp';

/** Whether the client can go through the one flow that this server has; absent, both are that flow (RFC 7591 section 2). */
export const wantsCodeFlow = ({ grant_types, response_types }: ClientMetadata): boolean =>
  (grant_types?.includes('authorization_code') ?? true) && (response_types?.includes('code') ?? true);

/** The redirect URIs that a client may be answered at, each once. */
export const usableRedirects = ({ redirect_uris }: ClientMetadata): string[] =>
  [...new Set(redirect_uris)].filter((uri) => redirectKindOf(uri) !== undefined);

/** @param otherwise what it is called if it does not say */
export const nameIn = ({ client_name }: ClientMetadata, otherwise: string): string =>
  shownName(client_name ?? '') ?? otherwise;

const MAX_PAGE_CHARACTERS = 500;

/** The client's page; undefined for what is no https address. */
export function pageIn({ client_uri }: ClientMetadata): string | undefined {
  if (client_uri === undefined || client_uri.length > MAX_PAGE_CHARACTERS) return undefined;
  if (!URL.canParse(client_uri)) return undefined;
  const { protocol, href } = new URL(client_uri);
  return protocol === 'https:' ? href : undefined;
}
