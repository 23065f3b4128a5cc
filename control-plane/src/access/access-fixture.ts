import { createApprovalWaiters } from './approval-waiters.ts';
import type { Approvals } from './approvals.ts';
import { type Id, ManualClock } from '@svault/shared';
import type { AccessPrecondition, AuditWriter } from '../audit/audit-writer.ts';
import { createDenialCounter } from '../audit/denial-counter.ts';
import type { AgentCredential } from '../core/agent.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { Admission, Limiter, LimiterVerdict } from '../limits/limiter.ts';
import { createLimits } from '../limits/limits.ts';
import type { PolicyDecision, RateUse } from '../policies/evaluate.ts';
import { createAccess } from './authorize-agent.ts';
import { createProxyAccess } from './authorize-proxy.ts';
import { createBodyMemory, createOpenStreams } from './concurrency-limits.ts';
import type { AccessRequest, Decision, Denied, Operation, ProxyDecision } from './decision.ts';
import { createSessionIds } from './session-ids.ts';
import type { AgentSubject, CallerSubject, ListedGrant, ProxySubject } from './subject.ts';

export const NOW = Date.parse('2026-11-20T12:00:00Z');

const KEY: AgentCredential = { kind: 'key', hash: 'hash of the key' };
export const SESSION: AgentCredential = { kind: 'session', hash: 'hash of the token', audience: 'https://x' };

export const ORIGIN = { requestId: 'req_1', channel: 'rest', address: '192.0.2.1' } as const;

export const GITHUB: Operation = { kind: 'credential', serviceName: 'github' };
export const NO_NAME: Operation = { kind: 'credential', serviceName: undefined };

export const UNLIMITED: LimiterVerdict = { allowed: true };
export const NO_POLICY: PolicyDecision = { allowed: true, rates: [], uses: [] };

export const rateOf = (ruleId: string, caller = 'agent agt_1'): RateUse => ({
  counter: { scope: 'rate_limit', key: `${ruleId} ${caller}`, limit: 5, windowMs: 60_000 },
  denial: { policy: 'slow', rule: 'rate_limit', reason: 'too often' },
});

const unasked = () => Promise.reject(new Error('nothing here asks for an approval'));
const NO_APPROVALS: Approvals = { ofPolicy: unasked, ofAccess: unasked };

/** Of an open vault with a webhook. */
const CALLER: CallerSubject = {
  vaultId: 'vlt_1' as Id<'vlt'>,
  lastUsedAt: null,
  vaultLockedAt: null,
  activeAgents: 1,
  proxies: 1,
  policies: null,
  policyUsage: null,
  accountRevision: 7,
  accessRequests: 0,
  webhookId: 'whk_1',
  webhookUrl: 'https://vault.example.org',
  keyId: 'k1',
  keyWrapped: 'wrapped',
};

/** An active agent with a grant for `github` that never expires. */
export const AGENT: AgentSubject = {
  ...CALLER,
  agentId: 'agt_1' as Id<'agt'>,
  status: 'active',
  mcpEnabled: 1,
  credentialExpiresAt: null,
  sessionId: null,
  sealingKeyThumbprint: null,
  grantId: 'grt_1' as Id<'grt'>,
  grantExpiresAt: null,
  refreshPolicy: 'auto',
  sourceGroupId: 'fld_1',
  approval: null,
};

/** A proxy that injects a token and acts for no agent. */
export const PROXY: ProxySubject = {
  ...CALLER,
  proxyId: 'prx_1' as Id<'prx'>,
  kind: 'mcp',
  upstreamAuthType: 'Token',
  upstreamUrl: 'https://mcp.example.com/mcp',
  serviceName: 'github',
  headerTemplates: '{"authorization":"Bearer ${TOKEN}"}',
  queryTemplates: null,
  redirects: null,
  region: null,
  service: null,
  revision: 3,
  deliveredAs: null,
  credentialRejected: null,
  agentId: null,
  proxyStatus: 'active',
  agentStatus: null,
};

/** Fakes around the pipeline. A test sets their answers, and reads which of them were called with what. */
abstract class PipelineFixture<Subject extends CallerSubject> {
  readonly clock = new ManualClock(NOW);
  /** Undefined: nobody has the credential. */
  subject: Subject | undefined;
  /** The verdict on a request. */
  admit = UNLIMITED;
  /** The verdict on a single counter. */
  take = UNLIMITED;
  policy = NO_POLICY;
  /** Whether a policy filters requests. */
  filters = false;
  offlineForSeconds = 0;
  /** Runs once in place of the write of an allowed access, whose precondition then fails. */
  meanwhile: (() => void) | undefined;
  /** Of uses of proxies that are committed. */
  durable: Promise<void> = Promise.resolve();

  /** The fakes that were called, in order. */
  readonly calls: string[] = [];
  readonly admissions: Admission[] = [];
  /** Of allowed accesses, written or not. */
  readonly preconditions: AccessPrecondition[] = [];
  readonly events: NewAuditEvent[] = [];

  readonly #audit: AuditWriter = {
    record: async (event, { onlyIf } = {}) => {
      if (onlyIf !== undefined) {
        this.preconditions.push(onlyIf);
        const change = this.meanwhile;
        this.meanwhile = undefined;
        if (change !== undefined) return (change(), false);
      }
      this.events.push(event);
      return true;
    },
    commit: async (event, options) =>
      (await this.#audit.record(event, options)) ? { durable: this.durable } : undefined,
  };
  readonly #denials = createDenialCounter({ audit: this.#audit, clock: this.clock });
  readonly #limiter: Limiter = {
    admit: (admission) => (this.calls.push('limiter'), this.admissions.push(admission), this.admit),
    take: ({ key }) => (this.calls.push(`take ${key}`), this.take),
    usage: () => [],
    lockouts: () => [],
  };
  protected readonly dependencies = {
    limiter: this.#limiter,
    limits: createLimits({}),
    policies: {
      evaluate: () => (this.calls.push('policies'), this.policy),
      filters: () => this.filters,
    },
    audit: this.#audit,
    denials: this.#denials,
    approvals: NO_APPROVALS,
    waiters: createApprovalWaiters({
      approvals: { decidedAmong: () => Promise.resolve([]) },
      learnStates: () => Promise.resolve(),
      onError: () => undefined,
    }),
    offlineForSeconds: () => (this.calls.push('offline'), this.offlineForSeconds),
    clock: this.clock,
  };

  constructor(subject: Subject) {
    this.subject = subject;
  }

  change(members: Partial<Subject>): void {
    if (this.subject !== undefined) this.subject = { ...this.subject, ...members };
  }

  /** Writes the coalesced denials. */
  flushDenials(): Promise<void> {
    return this.#denials.flush(true);
  }
}

/** The denial, or else the outcome. */
const answerOf = (decision: Denied | { readonly outcome: string }): unknown =>
  'denial' in decision ? decision.denial : decision.outcome;

export class AgentFixture extends PipelineFixture<AgentSubject> {
  grants: readonly ListedGrant[] = [];
  /** Another request was first to delete the expired grant. */
  isGrantDeleted = false;

  readonly #access = createAccess({
    ...this.dependencies,
    store: {
      find: ({ hash }) => {
        this.calls.push('store');
        return hash === KEY.hash || hash === SESSION.hash ? this.subject : undefined;
      },
      findWithGrants: () => {
        this.calls.push('store with grants');
        return this.subject && { ...this.subject, grants: this.grants };
      },
    },
    sealedApprovals: { ask: unasked },
    expiredGrants: {
      remove: async (_subject, { expiry, denial }) => {
        this.calls.push('delete');
        if (!this.isGrantDeleted) this.events.push(expiry, denial);
        return !this.isGrantDeleted;
      },
    },
    issueCredentialUrl: () => (this.calls.push('ticket'), { url: 'https://x', expiresAt: NOW }),
  });

  constructor() {
    super(AGENT);
  }

  /** By key over REST, unless `request` says otherwise. */
  decide(operation: Operation, request: Partial<AccessRequest> = {}): Promise<Decision> {
    const defaults = { credential: KEY, channel: 'rest', origin: ORIGIN } as const;
    return this.#access.decide({ ...defaults, ...request, operation });
  }

  /** The denial, or else the outcome. */
  async answer(...request: Parameters<AgentFixture['decide']>): Promise<unknown> {
    return answerOf(await this.decide(...request));
  }
}

/** One stream at once, and 100 bytes of large bodies. */
export class ProxyFixture extends PipelineFixture<ProxySubject> {
  readonly access = createProxyAccess({
    ...this.dependencies,
    store: { find: () => (this.calls.push('store'), this.subject) },
    sessionIds: createSessionIds(new Uint8Array(32)),
    streams: createOpenStreams({ maxPerProxy: 1 }),
    bodies: createBodyMemory({ maxBytes: 100, maxBytesPerAccount: 100 }),
  });

  constructor() {
    super(PROXY);
  }

  decide(keyHash: string | undefined = 'hash'): Promise<ProxyDecision> {
    return this.access.decide({
      keyHash,
      kind: 'mcp',
      traffic: 'mcp_handshake',
      method: 'GET',
      target: undefined,
      fields: [],
      body: new Uint8Array(),
      origin: ORIGIN,
    });
  }

  /** The denial, or else the outcome. */
  async answer(): Promise<unknown> {
    return answerOf(await this.decide());
  }
}
