import type { Row } from './row.ts';

const REST = 'REST credential endpoint';
const MCP = 'MCP endpoint';
const PROXY = 'Proxy endpoint';

/** The specification's "Errors", in the words of specification.md. */
export const ERROR_ROWS = {
  MISSING_KEY: { under: REST, says: '401 | MISSING_KEY | No key in a header.' },
  INVALID_KEY: { under: REST, says: '403 | INVALID_KEY | Key malformed or revoked.' },
  AGENT_INACTIVE: { under: REST, says: '403 | AGENT_INACTIVE | Agent suspended or deleted.' },
  'POLICY_DENIED 403': {
    under: REST,
    says: '403 | POLICY_DENIED | An ABAC rule other than rate_limit blocked the request.',
  },
  'POLICY_DENIED 429': {
    under: REST,
    says: '429 | POLICY_DENIED | A rate_limit rule blocked it. The body adds retryAfter, and the response carries a Retry-After header.',
  },
  GRANT_EXPIRED: {
    under: REST,
    says: '403 | GRANT_EXPIRED | Grant existed but expired (it is deleted on this request).',
  },
  INVALID_SERVICE: { under: REST, says: '400 | INVALID_SERVICE | Service name contains /.' },
  NO_GRANT: { under: REST, says: '404 | NO_GRANT | No active grant for the service.' },
  RATE_LIMITED: {
    under: REST,
    says: '429 | RATE_LIMITED | Penalty box, floor limit, account aggregate, or over the no-grant miss limit.',
  },
  VAULT_LOCKED: { under: REST, says: '423 | VAULT_LOCKED | The owner has locked the vault.' },
  WEBHOOK_NOT_CONFIGURED: {
    under: REST,
    says: '502 | WEBHOOK_NOT_CONFIGURED | No webhook is bound to the vault.',
  },
  'body: policy denial': {
    under: REST,
    says: 'Body shapes (field names, no values): … Policy denial: {error (string), policy (policy name), rule (rule type), reason (string), code: POLICY_DENIED}.',
  },
  'body: rate_limit': { under: REST, says: 'With rate_limit, also retryAfter (integer seconds).' },
  'body: miss limit': { under: REST, says: 'No-grant miss limit: {error, code: RATE_LIMITED, retryAfter}.' },
  'webhook offline': {
    under: REST,
    says: 'When the webhook is offline, the redirect fetch fails at the webhook. The webhook-mode description also states that agent',
  },
  'webhook offline, proxy': {
    under: REST,
    says: 'When the webhook is offline, … and proxy requests then return 503.',
  },

  'MCP rate denial': {
    under: MCP,
    says: "Rate and penalty denials come back as a JSON-RPC error, not a tool result: … HTTP 429, a Retry-After header, and the request's own id. … error.code is -32029 (a service-specific code). … error.message is a string. … error.data is {code: RATE_LIMITED, retryAfter}.",
  },
  'MCP rate denial: no policy': {
    under: MCP,
    says: 'On this endpoint data.code is always RATE_LIMITED. A policy denial is a tool result instead.',
  },
  'tool: text': {
    under: MCP,
    says: 'Tool errors (HTTP 200, isError: true, structuredContent.code): … The text of a tool error has the form Error [<code>]: <message>.',
  },
  'tool: NO_GRANT': {
    under: MCP,
    says: 'NO_GRANT | No grant, or the service does not exist (deliberately indistinguishable).',
  },
  'tool: GRANT_EXPIRED': { under: MCP, says: 'GRANT_EXPIRED | Grant lapsed (deleted on this call).' },
  'tool: POLICY_DENIED': {
    under: MCP,
    says: 'POLICY_DENIED | An ABAC rule blocked the call. retryAfter appears only for a rate_limit rule.',
  },
  'tool: RATE_LIMITED': {
    under: MCP,
    says: 'RATE_LIMITED | Over the no-grant miss limit. retryAfter is present.',
  },
  'tool: VAULT_LOCKED': { under: MCP, says: 'VAULT_LOCKED | Vault locked.' },
  'tool: WEBHOOK_NOT_CONFIGURED': { under: MCP, says: 'WEBHOOK_NOT_CONFIGURED | No webhook bound.' },
  'tool: INVALID_ARGUMENT': {
    under: MCP,
    says: 'INVALID_ARGUMENT | get_credential, show_credential or credential_history called without service, or with a non-string or /-containing one.',
  },

  'proxy: policy denial': {
    under: PROXY,
    says: 'On GET, DELETE and OPTIONS (no JSON-RPC body), policy denials use the plain POLICY_DENIED body: 403 for most rules, 429 for rate_limit.',
  },
  'proxy: limiter denial': {
    under: PROXY,
    says: 'On POST, a rate_limit denial, a limiter denial or a penalty-box denial uses the JSON-RPC -32029 shape (429, Retry-After).',
  },
  'proxy: other rules': { under: PROXY, says: 'Any other rule denies with the plain 403 body.' },
  'proxy: rate_limit on POST': {
    under: PROXY,
    says: 'On /api/proxy/mcp, -32029 may carry data.code POLICY_DENIED.',
  },
  'proxy: webhook offline': { under: PROXY, says: 'Webhook offline: 502 with code WEBHOOK_UNAVAILABLE.' },

  'exit code 6': { under: 'CLI exit codes', says: '6 | tokens get --check found an empty token.' },
  'exit code 7': { under: 'CLI exit codes', says: '7 | The response was HTTP 429.' },
  'exit code 7, again': {
    under: 'CLI exit codes',
    says: "The CLI's GET requests retry on 429 with backoff.",
  },
} as const satisfies Readonly<Record<string, Row>>;
