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
/** Where clients look first that were told of the resource and not of its metadata (RFC 9728 section 3.1). */
export const SUFFIXED_METADATA_PATH = `${RESOURCE_METADATA_PATH}${RESOURCE_PATH}`;

/** The one resource that there are tokens for (RFC 8707), our MCP endpoint. @param baseUrl without trailing slash */
export const resourceOf = (baseUrl: string): string => baseUrl + RESOURCE_PATH;
