import type { LimitScope } from './scopes.ts';

/** What a limit counts for (`per`) and what it counts; for docs/reference/limits.md. */
export interface ScopeDescription {
  readonly per: string;
  readonly counts: string;
}

const quota = (noun: string): ScopeDescription => ({ per: 'account', counts: `${noun} there may be` });

export const SCOPE_DESCRIPTIONS: Readonly<Record<LimitScope, ScopeDescription>> = {
  agent_credentials: {
    per: 'agent',
    counts:
      '`GET /api/agents/credentials`, `GET /api/agents/proxies` and MCP `tools/call`. Exceeding it is a strike',
  },
  proxy_mcp: { per: 'proxy', counts: 'requests of a proxy. Exceeding it is a strike' },
  token_refresh: { per: 'credential', counts: 'refreshes' },
  agent_no_grant: {
    per: 'agent',
    counts: 'denials `NO_GRANT` and `GRANT_EXPIRED`; never a strike, other services continue',
  },
  mcp_handshake: {
    per: 'agent or proxy',
    counts: '`initialize`, `tools/list`, `notifications/*`; never a strike',
  },
  key_reveal: { per: 'agent or proxy', counts: 'revealing a key' },
  credential_history: { per: 'agent', counts: '`credential_history`, in addition to `agent_credentials`' },
  user_aggregate: { per: 'account', counts: 'all agents and proxies of the account together; no strike' },
  account_export: { per: 'account', counts: '`GET /api/account/export`' },
  setup_step: { per: 'account', counts: '`POST /api/setup/steps/{step}`' },
  management_write: {
    per: 'principal',
    counts:
      'management requests that make or change something, simulations and previews of policies, matrices of reach and marks of what was seen; deleting, signing out and the lock never count',
  },
  oauth_register: { per: 'address', counts: 'registrations of OAuth clients' },
  oauth_authorize: { per: 'address', counts: 'the authorization page, and its form separately' },
  oauth_token: { per: 'address and client', counts: 'the token endpoint' },
  oauth_revoke: { per: 'address', counts: 'revocations' },
  oauth_introspect: { per: 'address', counts: 'introspections' },
  cli_login_begin: { per: 'address', counts: '`POST /api/cli/login/begin`' },
  cli_login_exchange: { per: 'address', counts: '`POST /api/cli/login/exchange`' },
  cli_login_refresh: { per: 'address', counts: '`POST /api/cli/login/refresh`' },
  password_login: { per: 'address', counts: 'signing in by password, and changing it' },
  link_login: { per: 'address', counts: 'signing in by a one-time link' },
  oidc_callback: { per: 'address', counts: 'returns from the identity provider' },
  max_agents: quota('agents'),
  max_tokens: quota('credentials'),
  max_grants: quota('grants'),
  max_folders: quota('folders'),
  max_policies: quota('policies'),
  max_proxies: quota('proxies'),
  max_members: quota('members'),
  max_admin_keys: quota('admin keys'),
  max_providers: quota('providers'),
};
