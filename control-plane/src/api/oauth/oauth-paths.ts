/** Where the OAuth of MCP clients is (contract.md, "OAuth for MCP clients"). */
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
 * Where the metadata of our MCP endpoint is (RFC 9728 section 3.1). The endpoint answers with a slash at its end too, and then
 * its metadata do: a client compares the `resource` in them with the address that it called (section 3.3).
 *
 * @param slash at the end of the address that was called
 */
export const metadataPathOf = (slash: '' | '/'): string => RESOURCE_METADATA_PATH + RESOURCE_PATH + slash;

/** The one resource that there are tokens for (RFC 8707), our MCP endpoint. @param baseUrl without trailing slash */
export const resourceOf = (baseUrl: string): string => baseUrl + RESOURCE_PATH;
