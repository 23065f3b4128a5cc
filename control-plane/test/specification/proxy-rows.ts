import type { Row } from './row.ts';

const ENDPOINT = 'POST /api/proxy/mcp (MCP proxy)';
const FIELDS = 'MCP proxy';
const KEY = 'Proxy key (checked in this order)';

/** What the specification says of proxies beside their errors and limits, in the words of specification.md. */
export const PROXY_ROWS = {
  'key: prefix': {
    under: FIELDS,
    says: 'Key prefix mcp_. The key is shown once at creation and can be revoked.',
  },
  'upstream auth type': { under: FIELDS, says: 'Upstream auth type: Token (default) or sv_session.' },
  'header templates': {
    under: FIELDS,
    says: 'Header templates may contain the substitution marker ${TOKEN}, which the webhook replaces with the real credential.',
  },

  'auth: proxy key': { under: ENDPOINT, says: 'Auth: proxy key mcp_....' },
  authenticates: { under: ENDPOINT, says: 'The service authenticates the key, … evaluates ABAC policies,' },
  forwards: {
    under: ENDPOINT,
    says: 'The service authenticates the key, … and forwards the request to {webhook_url}/v1/proxy with a signed ticket.',
  },
  injects: {
    under: ENDPOINT,
    says: 'The webhook injects the real credential, substituting ${TOKEN} in the header templates.',
  },
  streams: {
    under: ENDPOINT,
    says: 'It calls the upstream service, and the service streams the response back.',
  },
  redirects: { under: ENDPOINT, says: 'Upstream 3xx responses are not followed.' },
  refreshes: {
    under: ENDPOINT,
    says: 'Expired stored credentials are refreshed by the webhook before the upstream call.',
  },
  sv_session: {
    under: ENDPOINT,
    says: 'With upstream auth type sv_session, the service itself injects Authorization: Bearer svsess_... and calls the upstream directly, with no webhook hop.',
  },
  'sv_session: introspection': {
    under: ENDPOINT,
    says: 'The upstream validates the session through the introspection endpoint.',
  },
  'other methods': {
    under: ENDPOINT,
    says: 'Methods GET, DELETE and OPTIONS are also handled. A GET is the SSE transport probe.',
  },
  batch: { under: ENDPOINT, says: 'A JSON-RPC batch body is passed through as it stands.' },

  'key: order': {
    under: KEY,
    says: '1 | Authorization header | Bearer mcp_<key> … 2 | x-mcp-key header | mcp_<key>',
  },
} as const satisfies Readonly<Record<string, Row>>;
