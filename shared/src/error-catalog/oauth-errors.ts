import type { ErrorDescription, RedirectError } from './error-description.ts';

/**
 * Codes of the OAuth endpoints (`error`): RFC 6749 sections 4.1.2.1 and 5.2, RFC 7591 section 3.2.2, RFC 8707 section
 * 2, OpenID Connect Core section 3.1.2.6. Those without a status are part of a redirect.
 */
export const OAUTH_ERRORS = {
  access_denied: {
    statuses: [],
    meaning: 'The owner did not let the client act for an agent.',
    remedy: 'Connect again and allow it, or choose another agent.',
  },
  invalid_client: {
    statuses: [400, 401],
    meaning:
      'The client is not registered here, or no longer; with 401 it sent an Authorization header, and clients here have no secret.',
    remedy:
      'Let it register again; most do when their stored registration is removed. With 401, configure it without a client secret (token_endpoint_auth_method none).',
  },
  invalid_client_metadata: {
    statuses: [400],
    meaning: 'The client describes itself in a way that cannot be registered.',
    remedy: 'error_description names what is wrong.',
  },
  invalid_grant: {
    statuses: [400],
    meaning: 'The code or refresh token is used, too old, of another client, or its session was ended.',
    remedy: 'Connect again. A refresh token that is used twice ends its session, as it may be stolen.',
  },
  invalid_redirect_uri: {
    statuses: [400],
    meaning: 'The client may not be sent back to that address.',
    remedy: 'https is taken, http on this machine alone, and an app’s own scheme; nothing with a fragment.',
  },
  invalid_request: {
    statuses: [400],
    meaning: 'A parameter is missing, given twice, or malformed.',
    remedy: 'error_description names it. PKCE with S256 is a must.',
  },
  invalid_target: {
    statuses: [400],
    meaning: 'The session is asked for another resource than the MCP endpoint of this service.',
    remedy: 'Use the address that /.well-known/oauth-protected-resource names.',
  },
  request_not_supported: {
    statuses: [],
    meaning: 'The client sent its request as a signed object, which is not taken here.',
    remedy: 'Send plain parameters.',
  },
  request_uri_not_supported: {
    statuses: [],
    meaning: 'The client named an address of its request, and nothing is fetched from there.',
    remedy: 'Send plain parameters.',
  },
  unsupported_grant_type: {
    statuses: [400],
    meaning: 'The token endpoint exchanges codes and refresh tokens, and nothing else.',
    remedy: 'Use authorization_code or refresh_token.',
  },
  unsupported_response_type: {
    statuses: [],
    meaning: 'Only the authorization code flow is there.',
    remedy: 'Use response_type=code.',
  },
} as const satisfies Readonly<Record<string, ErrorDescription | RedirectError>>;

/** What JSON-RPC answers of the MCP endpoint and the proxy carry in `error.code`. */
export const JSON_RPC_ERRORS = {
  '-32029': {
    statuses: [429],
    meaning: 'Too many requests, or on a proxy a rate_limit rule; error.data.code says which of the two.',
    remedy: 'Wait for error.data.retryAfter seconds.',
  },
  '-32020': {
    statuses: [400],
    meaning: 'A header says something else than the body: method, name or protocol version.',
    remedy: 'Send both as the MCP specification has them; a client library does.',
  },
  '-32600': {
    statuses: [400],
    meaning: 'Several JSON-RPC messages came in one request, or what came is none.',
    remedy: 'Send one message in a request.',
  },
  '-32601': {
    statuses: [200, 404],
    meaning: 'There is no such method.',
    remedy: 'initialize, tools/list, tools/call, ping and notifications are those there are.',
  },
  '-32602': {
    statuses: [200, 400],
    meaning: 'There is no such tool, or the parameters of the call are malformed.',
    remedy: 'tools/list gives the tools and what they take.',
  },
  '-32700': {
    statuses: [400],
    meaning: 'What came is no JSON.',
    remedy: 'Send one JSON object in UTF-8.',
  },
} as const satisfies Readonly<Record<string, ErrorDescription>>;
