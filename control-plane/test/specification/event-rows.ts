import type { Row } from './row.ts';

const EVENTS = 'Events';
const VERSIONING = 'Versioning';

/** The specification's "Events", in the words of specification.md. */
export const EVENT_ROWS = {
  'activity log': {
    under: EVENTS,
    says: 'The activity (audit) log records agent credential accesses and is readable through credential_history. One event type is shown: AGENT_CREDENTIAL_ACCESS. One outcome value is shown: success.',
  },
  audited: { under: EVENTS, says: 'Grant creation, webhook events and revocations are audited.' },
  'written to the webhook': {
    under: EVENTS,
    says: "The service writes audit events through the webhook's /v1/storage.",
  },
  'expiring: notified': {
    under: EVENTS,
    says: 'The service notifies the webhook of expiring OAuth tokens through POST /v1/refresh-notify.',
  },
  'expiring: mediated': {
    under: EVENTS,
    says: 'In TV-mediated mode, tokens expiring within 1 hour are refreshed automatically.',
  },
  notifications: {
    under: EVENTS,
    says: 'MCP notifications/* messages are accepted as protocol bookkeeping (see Limits).',
  },
} as const satisfies Readonly<Record<string, Row>>;

/** The specification's "Versioning", in the words of specification.md. */
export const VERSION_ROWS = {
  'webhook paths': { under: VERSIONING, says: 'Service-to-webhook paths are prefixed /v1.' },
  messages: { under: VERSIONING, says: 'MCP messages use JSON-RPC 2.0 over Streamable HTTP.' },
  'key in a query': {
    under: VERSIONING,
    says: 'The API key in a query string was formerly accepted and is no longer accepted.',
  },
  '-32029': {
    under: VERSIONING,
    says: 'The -32029 code lies in the JSON-RPC server-error band and is specific to the service.',
  },
} as const satisfies Readonly<Record<string, Row>>;
