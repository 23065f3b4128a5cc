import type { Row } from './row.ts';

const UNDER = 'States and transitions';

/** The specification's "States and transitions"; its cells in their order. */
export const STATE_ROWS = {
  'agent: create': {
    under: UNDER,
    says: 'Agent | (new) | create agent | a name is supplied | active | An API key is generated and shown once.',
  },
  'agent: suspend': {
    under: UNDER,
    says: 'Agent | active | suspend | suspended | All requests with its key get 403 AGENT_INACTIVE. REST … blocked.',
  },
  'agent: suspend, MCP': {
    under: UNDER,
    says: 'Agent | active | suspend | suspended | Both REST and MCP are blocked.',
  },
  'agent: resume': { under: UNDER, says: 'Agent | suspended | resume | active' },
  'agent: delete': {
    under: UNDER,
    says: 'Agent | active or suspended | delete | deleted | Requests get 403 AGENT_INACTIVE.',
  },
  'grant: create': {
    under: UNDER,
    says: 'Grant | (none) | grant created | a vault token is selected | active | No check that the webhook holds it.',
  },
  'grant: expire': {
    under: UNDER,
    says: 'Grant | active | expiry time passes | grantExpiresAt is reached | expired | omitted from list mode.',
  },
  'grant: delete': {
    under: UNDER,
    says: 'Grant | expired | next credential request for that service | deleted | The request answers 403 GRANT_EXPIRED.',
  },
  'grant: revoke': {
    under: UNDER,
    says: "Grant | active | revoke | removed | The agent's next request gets an error (NO_GRANT).",
  },
  'oauth session: revoke': {
    under: UNDER,
    says: 'OAuth session | active | POST /api/mcp-oauth/revoke | revoked | The session is killed immediately.',
  },
  'vault: lock': {
    under: UNDER,
    says: 'Vault | unlocked | lock | locked | Mutating operations are blocked. Credential requests answer 423 VAULT_LOCKED.',
  },
  'vault: unlock': { under: UNDER, says: 'Vault | locked | unlock | admin only | unlocked' },
  'penalty box: lock out': {
    under: UNDER,
    says: 'Penalty box | clear | floor limit exceeded | locked out | Lockout length doubles with each strike.',
  },
} as const satisfies Readonly<Record<string, Row>>;
