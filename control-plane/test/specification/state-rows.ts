import type { Row } from './row.ts';

const UNDER = 'States and transitions';

/** The specification's "States and transitions", in the words of specification.md: the cells in their order. */
export const STATE_ROWS = {
  'agent: create': {
    under: UNDER,
    says: 'Agent | (new) | create agent | a name is supplied | active | An API key is generated and shown once.',
  },
  'agent: suspend': {
    under: UNDER,
    says: 'Agent | active | suspend (dashboard or CLI suspend) | none stated | suspended | All requests with its key get 403 AGENT_INACTIVE. Both REST',
  },
  'agent: suspend, MCP': {
    under: UNDER,
    says: 'Agent | active | suspend … Both REST and MCP are blocked.',
  },
  'agent: resume': {
    under: UNDER,
    says: 'Agent | suspended | resume (CLI resume) | none stated | active | none stated',
  },
  'agent: delete': {
    under: UNDER,
    says: 'Agent | active or suspended | delete | none stated | deleted | Requests get 403 AGENT_INACTIVE.',
  },
  'grant: create': {
    under: UNDER,
    says: 'Grant | (none) | grant created | a vault token is selected | active | No check that the webhook holds the credential.',
  },
  'grant: expire': {
    under: UNDER,
    says: 'Grant | active | expiry time passes | grantExpiresAt is reached | expired | Expired grants are omitted from list mode.',
  },
  'grant: delete': {
    under: UNDER,
    says: 'Grant | expired | next credential request for that service | none | deleted | The request answers 403 GRANT_EXPIRED.',
  },
  'grant: revoke': {
    under: UNDER,
    says: "Grant | active | revoke (dashboard, CLI gr rm) | none | removed | The agent's next request gets an error (NO_GRANT).",
  },
  'oauth session: revoke': {
    under: UNDER,
    says: 'OAuth session | active | POST /api/mcp-oauth/revoke | none | revoked | The session is killed immediately.',
  },
  'vault: lock': {
    under: UNDER,
    says: 'Vault | unlocked | lock | none | locked | Mutating operations are blocked. Agent credential requests answer 423 VAULT_LOCKED.',
  },
  'vault: unlock': { under: UNDER, says: 'Vault | locked | unlock | admin only | unlocked | none stated' },
  'penalty box: lock out': {
    under: UNDER,
    says: 'Penalty box | clear | floor limit exceeded | see Limits | locked out | Lockout length doubles with each strike.',
  },
} as const satisfies Readonly<Record<string, Row>>;
