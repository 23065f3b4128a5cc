import type { Row } from './row.ts';

/**
 * The specification's "Limits", in the words of specification.md. A row with a half that waits for a later endpoint is two
 * here.
 */
export const LIMIT_ROWS = {
  'retry hint': {
    under: 'Limits',
    says: 'All rate-limit responses carry a retry hint: a Retry-After header plus retryAfter in the body on REST, … Clients wait the indicated number of seconds.',
  },
  'retry hint, MCP': {
    under: 'Limits',
    says: 'All rate-limit responses carry a retry hint: … or the -32029 error on MCP. Clients wait the indicated number of seconds.',
  },

  agent_credentials: {
    under: 'Per-entity floors',
    says: 'agent_credentials | 60 per minute per agent | GET /api/agents/credentials',
  },
  'agent_credentials, MCP': {
    under: 'Per-entity floors',
    says: 'agent_credentials | 60 per minute per agent | … and MCP tools/call (shared counter and shared lockout).',
  },
  proxy_mcp: {
    under: 'Per-entity floors',
    says: 'proxy_mcp | 300 per minute per proxy | MCP proxy traffic.',
  },
  token_refresh: {
    under: 'Per-entity floors',
    says: 'token_refresh | 10 per hour per token/service | Scheduled and on-demand refresh.',
  },
  agent_no_grant: {
    under: 'Per-entity floors',
    says: 'agent_no_grant | 10 per minute per agent | NO_GRANT and GRANT_EXPIRED misses.',
  },
  'agent_no_grant, no strike': {
    under: 'Per-entity floors',
    says: "Never a penalty-box strike. Past the limit the answer is 429 RATE_LIMITED, and other services' fetches are unaffected.",
  },
  mcp_handshake: {
    under: 'Per-entity floors',
    says: 'mcp_handshake | 120 per minute per agent … | initialize, tools/list, notifications/*.',
  },
  'mcp_handshake, proxy': {
    under: 'Per-entity floors',
    says: 'mcp_handshake | 120 per minute per … or proxy | initialize, tools/list, notifications/*.',
  },
  key_reveal: { under: 'Per-entity floors', says: 'key_reveal | 20 per hour per agent … | Revealing a key.' },
  'key_reveal, proxy': {
    under: 'Per-entity floors',
    says: 'key_reveal | 20 per hour per … or proxy | Revealing a key.',
  },
  credential_history: {
    under: 'Per-entity floors',
    says: 'credential_history | 20 per minute per agent | An extra cap on top of agent_credentials for credential_history.',
  },
  'credential_history, order': {
    under: 'Per-entity floors',
    says: 'It is checked before any log read. It can be overridden by environment.',
  },

  'order: penalty box': {
    under: 'Pipeline order for credential access',
    says: 'Penalty box. A locked-out agent gets 429 RATE_LIMITED at once for every service, on both REST',
  },
  'order: penalty box, MCP': {
    under: 'Pipeline order for credential access',
    says: 'Penalty box. … on both REST and MCP.',
  },
  'order: floor': {
    under: 'Pipeline order for credential access',
    says: "Floor limit. Exceeding it strikes the penalty box. The resulting lockout is at least the floor window's own Retry-After (up to 60 seconds).",
  },
  'order: aggregate': { under: 'Pipeline order for credential access', says: 'Account aggregate.' },
  'order: grant and policies': {
    under: 'Pipeline order for credential access',
    says: 'Then grant and policy checks.',
  },
  'order: shared by REST and MCP': {
    under: 'Pipeline order for credential access',
    says: 'The REST and MCP endpoints share the same floor counter and penalty box.',
  },

  'handshake: exempt': {
    under: 'Handshake exemption',
    says: 'initialize, tools/list and notifications/* skip the floor, the aggregate and the strikes. They count against mcp_handshake.',
  },
  'handshake: aggregate': {
    under: 'Handshake exemption',
    says: 'They still count against the account aggregate ceiling, with no strike.',
  },
  'handshake: SSE probe': {
    under: 'Handshake exemption',
    says: 'On the proxy, the SSE GET probe always counts against the full floor.',
  },
  'handshake: batch': {
    under: 'Handshake exemption',
    says: 'A JSON-RPC batch counts as one unit. It counts against mcp_handshake only if every message in it is exempt. Otherwise the whole batch counts against the floor.',
  },
  'handshake: batch, proxy': {
    under: 'Handshake exemption',
    says: 'A JSON-RPC batch counts as one unit. … Otherwise the whole batch counts against the floor.',
  },

  'user_aggregate: low end': {
    under: 'Account-wide',
    says: 'user_aggregate | clamp( … 600, … per minute, across all agents',
  },
  'user_aggregate: between': {
    under: 'Account-wide',
    says: 'user_aggregate | clamp(ceil(1.5 x (60 x active_agents … per minute, across all agents',
  },
  'user_aggregate: high end': {
    under: 'Account-wide',
    says: 'user_aggregate | clamp( … 3000) per minute, across all agents',
  },
  'user_aggregate: proxies': {
    under: 'Account-wide',
    says: 'user_aggregate | clamp(ceil(1.5 x (60 x active_agents + 300 x proxies)), 600, 3000) per minute, across all agents and proxies of the account.',
  },
  account_export: { under: 'Account-wide', says: 'account_export | 5 per hour per account.' },
  setup_step: { under: 'Account-wide', says: 'setup_step | 30 per day per account.' },

  oauth_register: { under: 'Per IP, unauthenticated endpoints', says: 'OAuth register | 30 per hour per IP' },
  oauth_authorize: {
    under: 'Per IP, unauthenticated endpoints',
    says: 'OAuth authorize | 30 per hour per IP',
  },
  oauth_token: {
    under: 'Per IP, unauthenticated endpoints',
    says: 'OAuth token | 60 per hour per (IP, client_id)',
  },
  oauth_revoke: { under: 'Per IP, unauthenticated endpoints', says: 'OAuth revoke | 60 per hour per IP' },
  oauth_introspect: {
    under: 'Per IP, unauthenticated endpoints',
    says: 'OAuth introspect | 600 per minute per IP',
  },
  cli_login_begin: {
    under: 'Per IP, unauthenticated endpoints',
    says: 'CLI login (begin) | 20 per hour per IP',
  },
  cli_login_exchange: {
    under: 'Per IP, unauthenticated endpoints',
    says: 'CLI login (exchange) | 30 per hour per IP',
  },
  cli_login_refresh: {
    under: 'Per IP, unauthenticated endpoints',
    says: 'CLI login (refresh) | 600 per hour per IP',
  },

  'penalty box: doubling': {
    under: 'Penalty box',
    says: 'Strike 1 locks out for 1 second, strike 2 for 2 seconds, strike 3 for 4 seconds, doubling each time. The cap is 15 minutes.',
  },
  'penalty box: decay': {
    under: 'Penalty box',
    says: 'A strike decays after an hour with no further violation.',
  },

  'other: rate_limit rule': {
    under: 'Other limits',
    says: 'An ABAC rate_limit rule adds its own ceiling on top of all of the above. Its denial is 429 and names the policy.',
  },
  'other: grant duration': {
    under: 'Other limits',
    says: 'Grant duration: 1 hour to 30 days, or until revoked.',
  },
  'other: bind code': { under: 'Other limits', says: 'The webhook bind code is valid for 5 minutes.' },
  'other: history page': {
    under: 'Other limits',
    says: 'credential_history page size is at most 50 (default 20). It reads at most 100 log rows per page.',
  },
} as const satisfies Readonly<Record<string, Row>>;
