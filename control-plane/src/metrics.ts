import {
  CALL_SECONDS,
  COMMON_METRICS,
  LOCAL_SECONDS,
  type Meters,
  NO_METERS,
  type Recorders,
  counter,
  gauge,
  histogram,
  reading,
  recordersOf,
} from '@svault/server-kit/meters';
import { responseMetrics } from '@svault/server-kit/metered-responses';
import { WEBHOOK_ERROR_STATUS } from '@svault/shared';
import type { Denial } from './access/decision.ts';
import { TASKS } from './core/background-job.ts';
import { SCOPES } from './limits/scopes.ts';
import type { RefreshReason, RefreshResult } from './refresh/refresh-result.ts';
import type { WebhookCallFailed } from './webhook/call-failed.ts';
import type { WebhookCall } from './webhook/client.ts';

/** A list that the compiler keeps complete. */
const allOf = <Value extends string>(values: Readonly<Record<Value, true>>): readonly string[] =>
  Object.keys(values);

/** Paths that are counted by name, by how they begin; all others are one. */
const ENDPOINTS: readonly (readonly [endpoint: string, path: RegExp])[] = [
  ['credentials', /^\/api\/agents\/credentials$/],
  ['agent_proxies', /^\/api\/agents\/proxies$/],
  ['access_requests', /^\/api\/agents\/access-requests$/],
  ['agent_approvals', /^\/api\/agents\/approvals\//],
  ['mcp', /^\/api\/agents\/mcp\/?$/],
  ['proxy_mcp', /^\/api\/proxy\/mcp\/?$/],
  ['proxy_http', /^\/api\/proxy\/http(?:\/|$)/],
  ['oauth', /^\/(?:api\/mcp-oauth|\.well-known)\//],
  ['sign_in', /^\/(?:api\/)?login(?:\/|$)/],
  ['management', /^\/api\//],
  ['health', /^\/(?:healthz|readyz)$/],
];

/** The label of a path. */
export const endpointOf = (path: string): string =>
  ENDPOINTS.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other';

const DENIALS = allOf<Denial['code']>({
  MISSING_KEY: true,
  INVALID_KEY: true,
  INVALID_REQUEST: true,
  FORBIDDEN: true,
  AGENT_INACTIVE: true,
  MCP_DISABLED: true,
  INVALID_SERVICE: true,
  VAULT_LOCKED: true,
  NO_GRANT: true,
  GRANT_EXPIRED: true,
  POLICY_DENIED: true,
  APPROVAL_REQUIRED: true,
  RATE_LIMITED: true,
  SESSION_NOT_FOUND: true,
  WEBHOOK_NOT_CONFIGURED: true,
  WEBHOOK_UNAVAILABLE: true,
});

const REFRESH_REASONS = allOf<RefreshReason>({ expiring: true, expired: true, manual: true });
const REFRESH_OUTCOMES = allOf<RefreshResult['outcome']>({
  refreshed: true,
  accepted: true,
  not_refreshable: true,
  reauth_needed: true,
  failed: true,
  provider_not_configured: true,
  busy: true,
  limited: true,
  webhook_unavailable: true,
});

const WEBHOOK_ENDPOINTS = allOf<WebhookCall['path'] | '/v1/proxy'>({
  '/v1/approvals': true,
  '/v1/approvals/list': true,
  '/v1/exchange': true,
  '/v1/health': true,
  '/v1/proxy': true,
  '/v1/refresh': true,
  '/v1/refresh-notify': true,
  '/v1/storage': true,
});
const CALL_OUTCOMES = allOf<
  'answered' | 'aborted' | Exclude<WebhookCallFailed['failure'], 'held_back' | 'garbage'> | 'invalid_answer'
>({
  answered: true,
  refused: true,
  unreachable: true,
  invalid_answer: true,
  address: true,
  aborted: true,
});

/** Limits of what is open at once, which the limiter does not keep. */
export const LIMITS_OF_OPEN = ['open_streams', 'large_bodies', 'open_approvals'] as const;

/** What the control plane measures, in addition to Node's own metrics. */
export const METRICS = {
  ...COMMON_METRICS,
  ...responseMetrics('svault', [...ENDPOINTS.map(([endpoint]) => endpoint), 'other']),
  decisions: counter(
    'svault_access_decisions_total',
    'Decisions about requests of agents and proxies: allowed, or the code of the denial',
    { channel: ['rest', 'mcp', 'proxy'], outcome: ['allowed', 'AUDIT_UNAVAILABLE', ...DENIALS, 'other'] },
  ),
  stageSeconds: histogram(
    'svault_access_stage_seconds',
    'Stages of a decision: reading caller, grant and policies; counting; evaluating; recording; signing',
    { stage: ['lookup', 'limits', 'policies', 'commit', 'ticket'] },
    LOCAL_SECONDS,
  ),
  limiterDecision: counter('svault_limiter_decisions_total', 'What each limit let through and denied', {
    scope: [...Object.keys(SCOPES), 'user_aggregate', 'penalty_box', 'rate_limit', ...LIMITS_OF_OPEN],
    verdict: ['admitted', 'denied'],
  }),
  limiterBackend: gauge('svault_limiter_backend', '1 for where limits are kept now', {
    backend: ['redis', 'process'],
  }),
  callSeconds: histogram(
    'svault_webhook_call_seconds',
    'Calls of webhooks until the answer, of /v1/proxy until its head',
    { endpoint: WEBHOOK_ENDPOINTS, outcome: CALL_OUTCOMES },
    CALL_SECONDS,
  ),
  callRefusals: counter('svault_webhook_refusals_total', 'Refusals of webhooks by code', {
    code: Object.keys(WEBHOOK_ERROR_STATUS),
  }),
  offlineWebhooks: reading('svault_webhooks_offline', 'Webhooks that this process considers offline'),
  refreshes: counter('svault_refreshes_total', 'Refreshes of tokens that were asked for', {
    reason: REFRESH_REASONS,
    outcome: REFRESH_OUTCOMES,
  }),
  undeliveredEvents: reading(
    'svault_audit_undelivered_events',
    'Events that the bound webhooks have not acknowledged',
  ),
  undeliveredAge: reading(
    'svault_audit_undelivered_age_seconds',
    'Age of the oldest event that a bound webhook has not acknowledged; 0 where there is none',
  ),
  queuedNotifications: reading(
    'svault_notifications_queued',
    'Messages about approvals that wait to be sent',
  ),
  openApprovals: reading('svault_approvals_pending', 'Requests that wait for a decision by a person'),
  connections: reading('svault_database_connections', 'Connections to PostgreSQL by pool and state', {
    pool: ['credentials', 'management'],
    state: ['busy', 'idle'],
  }),
  connectionWaiters: reading(
    'svault_database_connection_waiters',
    'Statements that wait for a connection to PostgreSQL',
    { pool: ['credentials', 'management'] },
  ),
  proxyStreams: reading('svault_proxy_streams', 'Exchanges of proxies that are open'),
  eventStreams: reading('svault_event_streams', 'Clients that follow the audit log'),
  leader: gauge('svault_leader', '1 in the process that does the background work of all'),
  taskRuns: counter('svault_task_runs_total', 'Runs of background jobs', {
    task: TASKS,
    outcome: ['succeeded', 'failed'],
  }),
  taskSuccess: gauge(
    'svault_task_last_success_timestamp_seconds',
    'When a background job last succeeded in this process',
    { task: TASKS },
  ),
};

export type Metrics = Recorders<typeof METRICS>;

export const createMetrics = (meters: Meters): Metrics => recordersOf(meters, METRICS);

export const NO_METRICS: Metrics = createMetrics(NO_METERS);
