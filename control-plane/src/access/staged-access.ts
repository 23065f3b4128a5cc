import { type Id, ManualClock } from '@svault/shared';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { AccessPrecondition, AuditWriter } from '../audit/audit-writer.ts';
import { createDenialCounter } from '../audit/denial-counter.ts';
import type { Admission, LimiterVerdict } from '../limits/limiter.ts';
import { createLimits } from '../limits/limits.ts';
import type { PolicyDecision } from '../policies/evaluate.ts';
import type { AccessRequest, Decision, Operation } from './decision.ts';
import type { AgentSubject, ListedGrant } from './subject.ts';
import type { AgentCredential } from '../core/agent.ts';
import { createAccess } from './authorize-agent.ts';

export const NOW = Date.parse('2026-11-20T12:00:00Z');

export const KEY: AgentCredential = { kind: 'key', hash: 'hash of the key' };
export const SESSION: AgentCredential = { kind: 'session', hash: 'hash of the token', audience: 'https://x' };

export const OPEN: LimiterVerdict = { allowed: true };
export const FREE: PolicyDecision = { allowed: true, rates: [], uses: [] };

/** An active agent whose grant for `github` has no end, in an open vault with a webhook. */
const SUBJECT: AgentSubject = {
  agentId: 'agt_1' as Id<'agt'>,
  vaultId: 'vlt_1' as Id<'vlt'>,
  status: 'active',
  mcpEnabled: 1,
  lastUsedAt: null,
  credentialExpiresAt: null,
  sealingKeyThumbprint: null,
  vaultLockedAt: null,
  activeAgents: 1,
  proxies: 0,
  policies: null,
  policyUsage: null,
  accountRevision: 7,
  grantId: 'grt_1' as Id<'grt'>,
  grantExpiresAt: null,
  refreshPolicy: 'auto',
  sourceGroupId: 'fld_1',
  webhookId: 'whk_1',
  webhookUrl: 'https://vault.example.org',
  keyId: 'k1',
  keyWrapped: 'wrapped',
};

/**
 * The pipeline for tests, with everything beside it played: what stands in the store, what limits, policies and webhook
 * say, and what each of them was asked and told.
 */
export class AccessStage {
  readonly clock = new ManualClock(NOW);
  subject = SUBJECT;
  /** The agent has its key and its session still. */
  isKnown = true;
  grants: readonly ListedGrant[] = [];
  admit = OPEN;
  /** What a counter alone says. */
  take = OPEN;
  policy = FREE;
  offlineForSeconds = 0;
  /** Another request deleted the lapsed grant first. */
  lapsedIsGone = false;
  /** Happens once, after an access was decided and before it is written down. */
  meanwhile: (() => void) | undefined;

  /** Who was asked, in order. */
  readonly asked: string[] = [];
  readonly admissions: Admission[] = [];
  /** Of the accesses that were to be written. */
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
  };
  readonly #denials = createDenialCounter({ audit: this.#audit, clock: this.clock });
  readonly #access = createAccess({
    store: {
      find: ({ hash }) => {
        this.asked.push('store');
        const known = hash === KEY.hash || hash === SESSION.hash;
        return known && this.isKnown ? this.subject : undefined;
      },
      findWithGrants: () => {
        this.asked.push('store with grants');
        return { ...this.subject, grants: this.grants };
      },
    },
    limiter: {
      admit: (admission) => {
        this.asked.push('limiter');
        this.admissions.push(admission);
        return this.admit;
      },
      take: ({ key }) => {
        this.asked.push(`take ${key}`);
        return this.take;
      },
      lockouts: () => [],
    },
    limits: createLimits({}),
    policies: {
      evaluate: () => {
        this.asked.push('policies');
        return this.policy;
      },
    },
    audit: this.#audit,
    denials: this.#denials,
    expiredGrants: {
      remove: async (_subject, { expiry, denial }) => {
        this.asked.push('delete');
        if (!this.lapsedIsGone) this.events.push(expiry, denial);
        return !this.lapsedIsGone;
      },
    },
    offlineForSeconds: () => {
      this.asked.push('offline');
      return this.offlineForSeconds;
    },
    issueCredentialUrl: () => {
      this.asked.push('ticket');
      return { url: 'https://x', expiresAt: NOW };
    },
    clock: this.clock,
  });

  change(members: Partial<AgentSubject>): void {
    this.subject = { ...this.subject, ...members };
  }

  /** Asks by key at REST, where nothing else is said. */
  ask(operation: Operation, how: Partial<AccessRequest> = {}): Promise<Decision> {
    return this.#access.decide({
      credential: KEY,
      channel: 'rest',
      sourceAddress: '192.0.2.1',
      ...how,
      operation,
    });
  }

  /** What is said to a question: the denial, or else the outcome. */
  async said(...operation: Parameters<AccessStage['ask']>): Promise<unknown> {
    const decision = await this.ask(...operation);
    return decision.outcome === 'denied' ? decision.denial : decision.outcome;
  }

  /** Writes down what was only counted. */
  flushDenials(): Promise<void> {
    return this.#denials.flush(true);
  }
}

export const GITHUB: Operation = { kind: 'credential', serviceName: 'github' };
export const NO_NAME: Operation = { kind: 'credential', serviceName: undefined };
