import type { Row } from './row.ts';

const ENDPOINT = 'POST /api/agents/mcp';
const AUTHENTICATION = 'MCP endpoint';
const LIST_ENTRY = 'Grant list entry enriched by MCP tools';
const SESSION = 'OAuth session token';

/** What the specification says of the MCP endpoint beside its errors and limits, in the words of specification.md. */
export const MCP_ROWS = {
  transport: { under: ENDPOINT, says: 'JSON-RPC 2.0 over Streamable HTTP.' },
  methods: { under: ENDPOINT, says: 'Methods used: initialize, tools/list, tools/call, notifications/*.' },
  'auth on every method': {
    under: ENDPOINT,
    says: 'Auth is required on every method, including initialize.',
  },
  batch: {
    under: ENDPOINT,
    says: 'A request body that is a JSON array (batch) gets a single JSON-RPC error, code -32600, message Batch requests are not supported, id null.',
  },
  'tools/call': { under: ENDPOINT, says: 'tools/call takes params.name and params.arguments.' },
  denial: {
    under: ENDPOINT,
    says: 'A tools/call denial comes back as HTTP 200 with a result carrying isError: true, a text content item and structuredContent {code, message, retryAfter?} (see Errors).',
  },

  list_credentials: {
    under: ENDPOINT,
    says: 'list_credentials | none | {grants: [ {serviceName, grantExpiresAt, refreshPolicy, description, displayName, tags, tokenType, expiryTime, hasRefreshToken} ]}.',
  },
  'list_credentials, nothing secret': {
    under: ENDPOINT,
    says: 'list_credentials | none | … No credential material.',
  },
  'list_credentials, text': {
    under: ENDPOINT,
    says: 'The list_credentials text result is a human-readable summary listing, per service, the expiry (or Never) and the refresh policy.',
  },
  get_credential: {
    under: ENDPOINT,
    says: "get_credential | service (string, required) | A signed, short-lived, one-time credential URL pointing at the webhook's /v1/credential.",
  },
  'get_credential, no bytes': { under: ENDPOINT, says: 'The result carries no credential bytes.' },
  'get_credential, text': {
    under: ENDPOINT,
    says: 'The get_credential text result is the access token, token type, scope and grant expiry when the service returns the credential itself. When a webhook is bound, get_credential returns the signed URL.',
  },
  whoami: {
    under: ENDPOINT,
    says: 'whoami | none (inputSchema is an empty object) | {id, name, status, ownerId, grants: [ {serviceName, grantExpiresAt, refreshPolicy} ], policies: [ {name, ruleTypes: [string]} ]}.',
  },
  'whoami, never': {
    under: ENDPOINT,
    says: "It never returns the owner's e-mail or a policy's rule configuration.",
  },
  show_credential: {
    under: ENDPOINT,
    says: 'show_credential | service (string, required) | {serviceName, grantExpiresAt, refreshPolicy, displayName, tokenType, hasRefreshToken} (metadata only).',
  },
  'show_credential, ungranted': {
    under: ENDPOINT,
    says: 'An ungranted service gives the same ambiguous NO_GRANT error as get_credential.',
  },
  credential_history: {
    under: ENDPOINT,
    says: 'credential_history | service (string, required); … | {history: [ {eventType, timestamp, outcome} ], nextCursor}.',
  },
  'credential_history, arguments': {
    under: ENDPOINT,
    says: 'credential_history | … limit (integer 1 to 50, default 20, optional); cursor (string, optional, opaque, taken from a previous nextCursor)',
  },
  'credential_history, end': { under: ENDPOINT, says: 'nextCursor is absent when nothing is left.' },
  'credential_history, page': {
    under: ENDPOINT,
    says: 'credential_history paging rules: … Each call reads one page of at most 100 activity rows for the agent, then filters that page to the requested service.',
  },
  'credential_history, fewer': {
    under: ENDPOINT,
    says: 'A call can return fewer than limit rows, even zero, while more history exists.',
  },
  'credential_history, cursor': {
    under: ENDPOINT,
    says: 'The caller keeps passing nextCursor as cursor.',
  },

  'entry: of the service': {
    under: LIST_ENTRY,
    says: 'description, displayName, tags | Metadata owned by the service.',
  },
  'entry: of the webhook': {
    under: LIST_ENTRY,
    says: "tokenType, expiryTime, hasRefreshToken | Taken best-effort from the webhook's own list response.",
  },
  'entry: webhook away': {
    under: LIST_ENTRY,
    says: 'If the webhook lookup fails, they are silently omitted.',
  },

  'key or session': {
    under: AUTHENTICATION,
    says: 'Either an agent key (Authorization: Bearer svagent_<key>) or an OAuth 2.1 session token (svsess_...). Both resolve to the same agent, grants and policies.',
  },
  'OAuth flow': {
    under: AUTHENTICATION,
    says: 'OAuth 2.1 flow: the client calls the endpoint without credentials and receives a 401. It discovers the authorization server, registers itself, and obtains a session token through in-client browser consent.',
  },
  challenge: {
    under: AUTHENTICATION,
    says: 'An unauthenticated or invalid call, including initialize, receives 401 with the header WWW-Authenticate: Bearer resource_metadata=<{base_url}/.well-known/oauth-protected-resource>.',
  },
  'MCP enabled': { under: AUTHENTICATION, says: 'The agent must have MCP enabled.' },

  'session: bound': { under: SESSION, says: 'Prefix svsess_. It is bound to an agent' },
  'session: refreshed': { under: SESSION, says: 'and auto-refreshed.' },
  "session: the agent's status": { under: SESSION, says: "Every refresh re-checks the agent's status." },
} as const satisfies Readonly<Record<string, Row>>;
