import type { Row } from './row.ts';

const ENDPOINTS = 'Webhook endpoints (implemented by the account owner)';
const ENVELOPE = 'Credential envelope (returned by the webhook)';
const TYPES = 'Token types';
const SERVICE = 'Service to webhook';

/** The specification's table of the webhook's endpoints, in the words of specification.md. */
export const WEBHOOK_ROWS = {
  exchange: {
    under: ENDPOINTS,
    says: 'POST /v1/exchange | service, signed | One-time code exchange that establishes the HMAC secret.',
  },
  health: {
    under: ENDPOINTS,
    says: 'GET or POST /v1/health | service | GET is unauthenticated. POST is HMAC-signed.',
  },
  storage: {
    under: ENDPOINTS,
    says: 'POST /v1/storage | service, signed | Metadata operations: token listings, proxy configs, audit events, batch listing.',
  },
  proxy: {
    under: ENDPOINTS,
    says: 'POST /v1/proxy | service, signed | Decrypt the credential, inject it into the upstream request.',
  },
  'refresh-notify': {
    under: ENDPOINTS,
    says: 'POST /v1/refresh-notify | service, signed | Tells the webhook that a token needs refresh (notify-only refresh). The service sends provider hints (token URL, client id) and never the credential or client secret.',
  },
  refresh: {
    under: ENDPOINTS,
    says: 'POST /v1/refresh | service, signed | TV-mediated two-phase get/update refresh. Enabled only when the webhook reports the sv-refresh capability.',
  },
  credential: {
    under: ENDPOINTS,
    says: 'GET /v1/credential | agent, via 307 | Returns the credential after verifying the ticket signature.',
  },
  store: {
    under: ENDPOINTS,
    says: 'POST /v1/store | browser | Direct credential storage with a signed ticket issued by the service.',
  },
  bind: {
    under: ENDPOINTS,
    says: "GET /bind | browser | The webhook's page that produces the one-time registration link.",
  },
} as const satisfies Readonly<Record<string, Row>>;

/** The specification's "Credential envelope" and "Token types", in the words of specification.md. */
export const ENVELOPE_ROWS = {
  fields: {
    under: ENVELOPE,
    says: 'token.accessToken | string … token.refreshToken | string … token.serviceName | string … token.tokenType | string … token.createdAt | ISO 8601 timestamp',
  },
  'by type': { under: ENVELOPE, says: 'The exact fields depend on the token type.' },
  TOTP: { under: ENVELOPE, says: 'A TOTP token returns the current one-time code as accessToken.' },
  minted: { under: ENVELOPE, says: 'A raw cloud credential returns a short-lived minted token.' },
  types: {
    under: TYPES,
    says: 'JWT (OAuth/JWT), PlainText (API key or PAT), Certificate (X.509), SSHKey, RawCredential (raw blob), TOTP (2FA).',
  },
  metadata: {
    under: TYPES,
    says: 'Token metadata carries at least a service name, a display name, notes and tags.',
  },
} as const satisfies Readonly<Record<string, Row>>;

/** The specification's "Service to webhook", in the words of specification.md. */
export const SERVICE_ROWS = {
  'signed requests': {
    under: SERVICE,
    says: 'HMAC-SHA256 request signing, with a secret established through the one-time /v1/exchange code.',
  },
  'signed ticket': {
    under: SERVICE,
    says: 'Agent to webhook: a signed credential ticket (HMAC-SHA256) in the redirect or signed URL.',
  },
  'verified before processing': {
    under: SERVICE,
    says: 'The webhook must verify every signature before processing a request.',
  },
  'key reveal': {
    under: SERVICE,
    says: 'Key-reveal (an audited action) is limited per agent or proxy (see Limits).',
  },
  'admin users': {
    under: SERVICE,
    says: 'Admin users: browser login through an identity provider.',
  },
  'admin users, CLI': { under: SERVICE, says: 'The CLI holds the session in a context.' },
} as const satisfies Readonly<Record<string, Row>>;
