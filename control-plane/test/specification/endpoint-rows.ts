import type { Row } from './row.ts';

const UNDER = 'Other service endpoints';

/** The specification's "Other service endpoints", in the words of specification.md. */
export const ENDPOINT_ROWS = {
  'revoke endpoint': {
    under: UNDER,
    says: 'POST | /api/mcp-oauth/revoke | Revoke an OAuth session immediately.',
  },
  'resource metadata': {
    under: UNDER,
    says: 'GET | /.well-known/oauth-protected-resource | Protected-resource metadata used in the 401 discovery challenge.',
  },
  'bind page': {
    under: UNDER,
    says: "GET (browser) | /vault/webhook-bind | Bind page. URL parameters: code (one-time UUID, 5-minute lifetime), webhook_url (base64-encoded), hmac_hash (SHA-256 hash of the webhook's HMAC secret).",
  },
  'OAuth endpoints': {
    under: UNDER,
    says: 'OAuth registration, authorization, token, revoke and introspect endpoint paths and payloads: not shown. (Those endpoints exist; see Limits.)',
  },
} as const satisfies Readonly<Record<string, Row>>;
