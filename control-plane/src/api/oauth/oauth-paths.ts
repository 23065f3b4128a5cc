/** Paths of the OAuth endpoints for MCP clients. */
export const OAUTH_PATHS = {
  register: '/api/mcp-oauth/register',
  authorize: '/api/mcp-oauth/authorize',
  token: '/api/mcp-oauth/token',
  revoke: '/api/mcp-oauth/revoke',
  introspect: '/api/mcp-oauth/introspect',
} as const;

const RESOURCE_PATH = '/api/agents/mcp';
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';
export const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server';
/**
 * Path of the MCP endpoint's metadata (RFC 9728 section 3.1). The endpoint can be called with a trailing slash, so its metadata
 * have a form with one: a client compares their `resource` with the address that it called (section 3.3).
 * @param slash at the end of the address that was called
 */
export const metadataPathOf = (slash: '' | '/'): string => RESOURCE_METADATA_PATH + RESOURCE_PATH + slash;

/** The only resource of this server (RFC 8707), its MCP endpoint. @param baseUrl without trailing slash */
export const resourceOf = (baseUrl: string): string => baseUrl + RESOURCE_PATH;
