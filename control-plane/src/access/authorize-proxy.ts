import { requestDigest } from '@svault/shared/request-digest';
import type { CommittedEvent } from '../audit/audit-writer.ts';
import { ApiError } from '../core/errors.ts';
import { PROXY_PATHS, type ProxyKind, httpMembers, parseTemplates } from '../core/proxy.ts';
import { usageWithout } from '../policies/evaluate.ts';
import { type ApprovalWaiters, decideInTime } from './approval-waiters.ts';
import { type AmbiguousAsked, approvedUse } from './approved-use.ts';
import type { ApprovalAsked } from './ask-approval.ts';
import { upstreamRequest } from './upstream-request.ts';
import type { BodyMemory, OpenStreams } from './concurrency-limits.ts';
import {
  type Denial,
  type ProxyAccess,
  type ProxyRequest,
  type ProxyUse,
  type RequestOrigin,
  denied,
  plainDenial,
} from './decision.ts';
import { type AllowedUse, evaluateProxyRequest } from './evaluate-request.ts';
import { type CallerSteps, type PipelineDependencies, countOnce, identify, runPipeline } from './pipeline.ts';
import { type DenialRecorder, createDenialRecorder, proxyDenialEvent, proxyEvent } from './record-denial.ts';
import type { SessionIds } from './session-ids.ts';
import { type ProxyAccessStore, type ProxySubject, inactivity, isStale, webhookOf } from './subject.ts';

interface ProxyAccessDependencies extends PipelineDependencies {
  readonly store: ProxyAccessStore;
  readonly streams: OpenStreams;
  readonly bodies: BodyMemory;
  readonly sessionIds: SessionIds;
  readonly waiters: ApprovalWaiters;
}

/** Another exchange may end at any time. */
const NO_STREAM = { code: 'RATE_LIMITED', scope: 'open_streams', retryAfterSeconds: 1 } as const;
type Denials = DenialRecorder<ProxySubject>;

const NO_MEMORY = { ...NO_STREAM, scope: 'large_bodies' } as const;

/** Decides whether a proxy's request is forwarded, and with what. */
export function createProxyAccess(dependencies: ProxyAccessDependencies): ProxyAccess {
  const { store, audit, approvals, limiter, policies, offlineForSeconds, streams, bodies, clock } =
    dependencies;
  const denialsOf = createDenialRecorder(proxyDenialEvent, dependencies);

  const callerSteps = (keyHash: string, kind?: ProxyKind): CallerSteps<ProxySubject> => ({
    serviceName: undefined,
    find: () => store.find(keyHash),
    check: (subject) => {
      const code = inactivity(subject);
      if (code !== undefined) return plainDenial(code);
      return kind === undefined || kind === subject.kind ? undefined : wrongAddress(subject.kind);
    },
  });

  /**
   * The last steps of an allowed use: an approval, a destination, one of the proxy's streams, and the audit event.
   *
   * @returns undefined, with nothing written and no stream taken, where the precondition failed
   */
  async function authorizeUse(
    subject: ProxySubject,
    { uses, request, approval }: AllowedUse,
    asked: ProxyRequest,
    denials: Denials,
  ) {
    const { vaultId, accountRevision } = subject;
    const { origin } = asked;
    const deny = (denial: Denial) => denials.deny(subject, undefined, denial);
    const approved = await approvedUse(approvals, approval, () => toBeApproved(subject, asked));
    if (approved.denial !== undefined) return deny(approved.denial);
    const use = useOf(subject, origin);
    if (use === undefined) return deny(plainDenial('WEBHOOK_NOT_CONFIGURED'));
    const retryAfterSeconds = use.kind === 'webhook' ? offlineForSeconds(vaultId) : 0;
    if (retryAfterSeconds > 0) return deny({ code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds });
    const taken = [...uses, ...approved.uses];
    const stream = streams.open(subject);
    if (stream === undefined) return denials.denyCoalesced(subject, NO_STREAM);
    let recorded: CommittedEvent | undefined;
    try {
      const detail = request && { ...request };
      recorded = await audit.commit(proxyEvent(subject, { outcome: 'success', origin, detail }), {
        touchCaller: isStale(subject, clock.now()),
        onlyIf: { accountRevision, expiresAt: null, uses: taken },
      });
      // A power cut must not give a lifetime use back.
      if (taken.length > 0) await recorded?.durable;
    } catch (error) {
      recorded = undefined;
      throw error;
    } finally {
      if (recorded === undefined) stream.close();
    }
    const isApproved = approved.uses.length > 0;
    return (
      recorded &&
      ({ outcome: 'use', use, stream, uses: taken, isApproved, durable: recorded.durable } as const)
    );
  }

  /**
   * @param needed the approval that is asked for by now, unless the use had one
   * @throws ApiError UNAVAILABLE where the proxy's settings, its webhook or a policy are others than the use was decided with
   */
  async function requireUnchanged(
    subject: ProxySubject,
    needed: AllowedUse['approval'],
    { use, asked }: { readonly use: ProxyUse; readonly asked: ProxyRequest },
    denials: Denials,
  ) {
    const approved = await approvedUse(approvals, needed, () => toBeApproved(subject, asked));
    if (approved.denial !== undefined) return denials.deny(subject, undefined, approved.denial);
    if (approved.uses.length > 0)
      throw new ApiError('UNAVAILABLE', 'A policy was changed a moment ago; try again.');
    const current = useOf(subject, use.origin);
    if (current === undefined) return denials.deny(subject, undefined, plainDenial('WEBHOOK_NOT_CONFIGURED'));
    if (settingsOf(current) !== settingsOf(use))
      throw new ApiError('UNAVAILABLE', 'The proxy or its webhook was changed a moment ago; try again.');
    return { outcome: 'unchanged' } as const;
  }

  return {
    decide: async (request) => {
      const { keyHash, kind, traffic, origin } = request;
      if (keyHash === undefined) return denied(plainDenial('INVALID_KEY'));
      const denials = denialsOf(origin);
      const caller = callerSteps(keyHash, kind);
      const steps = {
        ...caller,
        traffic,
        count: countOnce(limiter),
        callerId: ({ proxyId }: ProxySubject) => proxyId,
        isCostly: (subject: ProxySubject) => policies.filters(subject.policies),
        evaluate: (subject: ProxySubject, nowMs: number) =>
          evaluateProxyRequest(dependencies, subject, request, nowMs),
      };
      const decision = await decideInTime(dependencies, request.waiting, () =>
        runPipeline(dependencies, denials, {
          ...steps,
          conclude: (subject, allowed) => authorizeUse(subject, allowed, request, denials),
        }),
      );
      if (decision.outcome === 'denied') return decision;
      const { outcome, use, stream, uses, isApproved, durable } = decision;
      const recheck = async (): Promise<Denial | undefined> => {
        const again = await runPipeline(dependencies, denials, {
          ...steps,
          find: async () => {
            const current = await caller.find();
            return current && { ...current, policyUsage: usageWithout(current.policyUsage, uses) };
          },
          conclude: (subject, { approval }) =>
            requireUnchanged(subject, isApproved ? undefined : approval, { use, asked: request }, denials),
        });
        return again.outcome === 'denied' ? again.denial : undefined;
      };
      return { outcome, use, stream, durable, recheck };
    },
    admit: async (keyHash, bytes, origin) => {
      const denials = denialsOf(origin);
      const identified = await identify(denials, callerSteps(keyHash));
      if (identified.outcome === 'denied') return identified;
      const { subject } = identified;
      const stream = streams.open(subject);
      if (stream === undefined) return denials.denyCoalesced(subject, NO_STREAM);
      const room = bodies.reserve(subject.vaultId, bytes);
      if (room !== undefined) return { outcome: 'admitted', stream, room };
      stream.close();
      return denials.denyCoalesced(subject, NO_MEMORY);
    },
  };
}

/** What a person would be shown, and an approval stands for; undefined where a message of MCP needs none. */
function toBeApproved(
  subject: ProxySubject,
  request: ProxyRequest,
): ApprovalAsked | AmbiguousAsked | undefined {
  const { vaultId, proxyId, serviceName, kind } = subject;
  const { reason, origin } = request;
  const sent = upstreamRequest(subject, request);
  const { method, target } = sent;
  const digested = requestDigest({ ...sent, kind });
  if ('ambiguity' in digested) return digested;
  if (digested.isHandshake === true) return undefined;
  const { digest, tool } = digested;
  const url = `${new URL(subject.upstreamUrl).origin}${target.split('?', 1)[0]}`;
  return {
    ...{ vaultId, serviceName: serviceName ?? '', reason, origin },
    caller: { type: 'proxy', id: proxyId },
    request: { method, url, target, digest, ...(tool !== undefined && { tool }) },
  };
}

const NAMES: Readonly<Record<ProxyKind, string>> = { mcp: 'an MCP server', http: 'an HTTP API' };

const wrongAddress = (kind: ProxyKind): Denial => ({
  code: 'FORBIDDEN',
  message: `This proxy is for ${NAMES[kind]}. Its address here is ${PROXY_PATHS[kind]}.`,
});

/** What the webhook must have for a use. */
const settingsOf = (use: ProxyUse): string =>
  use.kind === 'webhook' ? `${use.webhook.webhookId} ${use.config.revision}` : use.proxy.upstreamUrl;

/** @returns undefined where the proxy needs a webhook and none is bound */
function useOf(subject: ProxySubject, origin: RequestOrigin): ProxyUse | undefined {
  const { vaultId, proxyId, upstreamUrl, serviceName, agentId } = subject;
  const headerTemplates = parseTemplates(subject.headerTemplates) ?? {};
  if (subject.upstreamAuthType === 'sv_session') {
    if (agentId === null) throw new Error('a proxy that sends sessions acts for an agent');
    const proxy = { vaultId, proxyId, agentId, upstreamUrl };
    return { kind: 'session', vaultId, proxyId, origin, proxy, headerTemplates };
  }
  const webhook = webhookOf(subject);
  if (serviceName === null) throw new Error('a proxy that injects a token names it');
  if (webhook === undefined) return undefined;
  const { revision, deliveredAs, credentialRejected } = subject;
  const config = {
    ...{ proxyId, serviceName, upstreamUrl, headerTemplates },
    ...httpMembers({ ...subject, queryTemplates: parseTemplates(subject.queryTemplates) }),
    ...{ revision, deliveredAs },
  };
  return { kind: 'webhook', vaultId, proxyId, origin, webhook, config, credentialRejected };
}
