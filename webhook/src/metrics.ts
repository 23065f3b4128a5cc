import {
  CALL_SECONDS,
  COMMON_METRICS,
  type Meters,
  NO_METERS,
  type Recorders,
  counter,
  histogram,
  reading,
  recordersOf,
} from '@svault/server-kit/meters';
import { responseMetrics } from '@svault/server-kit/metered-responses';
import { SIGNATURE_REFUSAL_REASONS, TICKET_REFUSAL_REASONS } from '@svault/shared';
import type { SealedMinter } from './vault/record.ts';
import type { RefreshCause, RefreshResult } from './refresh/refresh-once.ts';

/** A list that the compiler keeps complete. */
const allOf = <Value extends string>(values: Readonly<Record<Value, true>>): readonly string[] =>
  Object.keys(values);

/** Endpoints that are counted by their path. */
const ENDPOINTS = [
  ...['/bind', '/v1/exchange', '/v1/health', '/v1/storage', '/v1/store', '/v1/credential', '/v1/proxy'],
  ...['/v1/approvals', '/v1/approvals/list', '/v1/refresh', '/v1/refresh-notify', '/healthz', '/readyz'],
];
/** Pages of passkeys and approvals, whose paths have ids. */
const PAGES = /^\/(approvals|approvers)\//;

/** The label of a path; all unknown ones are one, so that a client cannot make up names. */
export const endpointOf = (path: string): string =>
  ENDPOINTS.includes(path) ? path : (PAGES.exec(path)?.[1] ?? 'other');

/** What the webhook adds to the reasons of signatures and tickets, in `http/` and `replay/`. */
const OWN_REASONS = ['replayed', 'key_gone', 'below_time_floor', 'before_restore', 'other'];

/** What the webhook measures, in addition to Node's own metrics. */
export const METRICS = {
  ...COMMON_METRICS,
  ...responseMetrics('svault_webhook', [...ENDPOINTS, 'approvals', 'approvers', 'other']),
  refusedRequests: counter(
    'svault_webhook_refused_requests_total',
    'Signed requests of the control plane that were refused',
    { reason: [...SIGNATURE_REFUSAL_REASONS, 'unknown_key', 'key_former', ...OWN_REASONS] },
  ),
  refusedTickets: counter('svault_webhook_refused_tickets_total', 'Tickets that were refused', {
    reason: [...TICKET_REFUSAL_REASONS, 'missing_or_repeated', 'not_bound', ...OWN_REASONS],
  }),
  writeQuotaDenials: counter(
    'svault_webhook_write_quota_denials_total',
    'Writes of events and of records that were denied, since the control plane wrote too much',
    { kind: ['audit', 'records'] },
  ),
  strayCredentials: counter(
    'svault_webhook_stray_credentials_total',
    'Keys that arrived at /v1/credential beside a ticket and were ignored',
    { header: ['authorization', 'x-agent-key', 'x-mcp-key'] },
  ),
  upstreamSeconds: histogram(
    'svault_webhook_upstream_seconds',
    'Calls of upstreams until the head of the answer, or until they failed',
    {
      outcome: [
        ...['answered', 'aborted', 'DESTINATION_NOT_ALLOWED', 'UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT'],
        'other',
      ],
    },
    CALL_SECONDS,
  ),
  refreshes: counter('svault_webhook_refreshes_total', 'Refreshes of tokens at their providers', {
    cause: allOf<RefreshCause>({ use: true, notify: true, lease: true, start: true }),
    outcome: allOf<RefreshResult['outcome']>({
      ...{ refreshed: true, reauth_needed: true, failed: true, limited: true, changed: true },
    }),
  }),
  mints: counter('svault_webhook_mints_total', 'Credentials that providers were asked to make', {
    minter: allOf<SealedMinter['type']>({ 'aws-sts': true, 'gcp-service-account': true, 'github-app': true }),
    outcome: ['minted', 'MINT_FAILED', 'PROVIDER_TIMEOUT', 'other'],
  }),
  bound: reading('svault_webhook_bound', '1 while it is bound to a control plane'),
  logEvents: reading('svault_webhook_log_events', 'Events in the current epoch of its log'),
  clockBehind: reading(
    'svault_webhook_clock_behind_seconds',
    'How far its clock is behind a moment that has certainly passed; 0 for a sound clock',
  ),
};

export type Metrics = Recorders<typeof METRICS>;

export const createMetrics = (meters: Meters): Metrics => recordersOf(meters, METRICS);

export const NO_METRICS: Metrics = createMetrics(NO_METERS);
