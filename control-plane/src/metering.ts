import type { Clock } from '@svault/shared';
import type { Access, Denial, ProxyAccess } from './access/decision.ts';
import type { PipelineDependencies } from './access/pipeline.ts';
import type { AccessStore, ProxyAccessStore } from './access/subject.ts';
import { ApiError } from './core/errors.ts';
import type { ProxyAnswer, ProxyCall } from './forwarding/proxy-call.ts';
import { LIMITS_OF_OPEN, type Metrics, NO_METRICS } from './metrics.ts';
import type { TokenRefresh } from './refresh/refresh-result.ts';
import { WebhookCallFailed } from './webhook/call-failed.ts';
import type { SignedClient } from './webhook/client.ts';

/** Wraps parts of the program so that their calls are counted and timed. */
export interface Metering {
  pipeline<T extends Pick<PipelineDependencies, 'limiter' | 'policies' | 'audit'>>(dependencies: T): T;
  accessStore(store: AccessStore): AccessStore;
  proxyAccessStore(store: ProxyAccessStore): ProxyAccessStore;
  /** @param sign signs a ticket */
  tickets<Asked extends unknown[], Ticket>(sign: (...asked: Asked) => Ticket): (...asked: Asked) => Ticket;
  access(access: Access): Access;
  proxyAccess(access: ProxyAccess): ProxyAccess;
  client(client: SignedClient): SignedClient;
  proxyCall(call: ProxyCall): ProxyCall;
  refresh(refresh: TokenRefresh): TokenRefresh;
}

const same = <T>(part: T): T => part;
/** Leaves every part as it is. */
const NO_METERING: Metering = {
  ...{ pipeline: same, accessStore: same, proxyAccessStore: same, tickets: same },
  ...{ access: same, proxyAccess: same, client: same, proxyCall: same, refresh: same },
};

export function createMetering(metrics: Metrics, clock: Clock): Metering {
  if (metrics === NO_METRICS) return NO_METERING;
  const secondsSince = (startedMs: number): number => (clock.monotonic() - startedMs) / 1000;

  const stage = <Asked extends unknown[], Result>(
    name: string,
    run: (...asked: Asked) => Result,
  ): ((...asked: Asked) => Result) => {
    return (...asked) => {
      const startedMs = clock.monotonic();
      const record = (): void => metrics.stageSeconds({ stage: name }, secondsSince(startedMs));
      const result = run(...asked);
      // Not awaited: most stages of the process limiter and of SQLite end in this turn.
      if (result instanceof Promise) void result.then(record, record);
      else record();
      return result;
    };
  };

  type Channel = 'rest' | 'mcp' | 'proxy';
  const countDenial = (channel: Channel, denial: Denial): void => {
    metrics.decisions({ channel, outcome: denial.code });
    if (denial.code === 'RATE_LIMITED' && LIMITS_OF_OPEN.some((scope) => scope === denial.scope))
      metrics.limiterDecision({ scope: denial.scope, verdict: 'denied' });
  };
  const decided = async <D extends { readonly outcome: string }>(
    channel: Channel,
    decision: Promise<D>,
  ): Promise<D> => {
    try {
      const result = await decision;
      const denial = denialOf(result);
      if (denial === undefined) metrics.decisions({ channel, outcome: 'allowed' });
      else countDenial(channel, denial);
      return result;
    } catch (error) {
      metrics.decisions({ channel, outcome: error instanceof ApiError ? error.code : 'other' });
      throw error;
    }
  };

  const called = (endpoint: string, outcome: string, startedMs: number, code?: string): void => {
    metrics.callSeconds({ endpoint, outcome }, secondsSince(startedMs));
    if (code !== undefined) metrics.callRefusals({ code });
  };

  return {
    pipeline: (dependencies) => {
      const { limiter, policies, audit } = dependencies;
      return {
        ...dependencies,
        limiter: {
          ...limiter,
          admit: stage('limits', limiter.admit),
          take: stage('limits', limiter.take),
        },
        policies: { ...policies, evaluate: stage('policies', policies.evaluate) },
        audit: {
          record: stage('commit', audit.record),
          commit: stage('commit', audit.commit),
        },
      };
    },
    accessStore: ({ find, findWithGrants }) => ({
      find: stage('lookup', find),
      findWithGrants: stage('lookup', findWithGrants),
    }),
    proxyAccessStore: ({ find }) => ({ find: stage('lookup', find) }),
    tickets: (sign) => stage('ticket', sign),
    access: ({ decide }) => ({ decide: (request) => decided(request.channel, decide(request)) }),
    proxyAccess: ({ decide, admit }) => ({
      decide: (request) => decided('proxy', decide(request)),
      // What is admitted is decided about later.
      admit: async (...asked) => {
        const admittance = await admit(...asked);
        if (admittance.outcome === 'denied') countDenial('proxy', admittance.denial);
        return admittance;
      },
    }),
    client: ({ call }) => ({
      call: async (asked) => {
        const startedMs = clock.monotonic();
        try {
          const answer = await call(asked);
          called(asked.path, 'answered', startedMs);
          return answer;
        } catch (error) {
          const failed = error instanceof WebhookCallFailed ? error : undefined;
          called(asked.path, outcomeOf(failed), startedMs, failed?.code);
          throw error;
        }
      },
    }),
    proxyCall: (call) => async (use, exchange, take) => {
      const startedMs = clock.monotonic();
      let hasHead = false;
      const answer = await call(use, exchange, (head) => {
        hasHead = true;
        called(PROXY, 'answered', startedMs);
        return take(head);
      });
      if (!hasHead) called(PROXY, PROXY_OUTCOMES[answer.kind], startedMs, codeOf(answer));
      return answer;
    },
    refresh: ({ refresh }) => ({
      refresh: async (vaultId, serviceName, request) => {
        const result = await refresh(vaultId, serviceName, request);
        metrics.refreshes({ reason: request.reason, outcome: result.outcome });
        return result;
      },
    }),
  };
}

const denialOf = (decision: object): Denial | undefined =>
  'denial' in decision ? (decision.denial as Denial) : undefined;

/** An error of another kind is an abort by this process. */
function outcomeOf(failed: WebhookCallFailed | undefined): string {
  if (failed === undefined) return 'aborted';
  return failed.failure === 'garbage' ? 'invalid_answer' : failed.failure;
}

const PROXY = '/v1/proxy';
/** Of a call without a head of the upstream. `finished`: the caller has disconnected. */
const PROXY_OUTCOMES: Readonly<Record<ProxyAnswer['kind'], string>> = {
  finished: 'aborted',
  refused: 'refused',
  unavailable: 'unreachable',
};
const codeOf = (answer: ProxyAnswer): string | undefined =>
  answer.kind === 'refused' ? answer.code : undefined;
