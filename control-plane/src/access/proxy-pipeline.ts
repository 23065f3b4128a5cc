import { countOnce } from './counted-once.ts';
import { type Denial, denied, plainDenial } from './denial.ts';
import type { PolicyEvaluation } from './evaluate-policies.ts';
import { createRefusals } from './refusals.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import type { DenialCounter } from '../audit/denial-counter.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { PolicyEvaluator, RateUse } from '../policies/policy-verdict.ts';
import type { BodyRoom } from './body-room.ts';
import { mayAct } from './may-act.ts';
import { createEvaluateRequest } from './evaluate-proxy-request.ts';
import { NO_STREAM, type UseDependencies, createAuthorizeUse } from './authorize-use.ts';
import type { Admittance, ProxyAccess, ProxyDecision, ProxyRequest } from './proxy-access.ts';
import type { ProxyAccessStore, ProxySubject } from './proxy-access-store.ts';
import type { SessionIds } from './session-ids.ts';
import { proxyEvent } from './proxy-event.ts';

export interface ProxyAccessDependencies extends UseDependencies {
  readonly store: ProxyAccessStore;
  readonly limiter: Limiter;
  readonly limits: Limits;
  readonly policies: PolicyEvaluator;
  readonly denials: DenialCounter;
  readonly bodies: BodyRoom;
  readonly sessionIds: SessionIds;
}

/** Others may be done with theirs at any time. */
const NO_ROOM: Denial = { ...NO_STREAM, scope: 'large_bodies' };

/**
 * Decides whether a proxy's request goes on, as `access/pipeline.ts` does for agents. Everything that can refuse stands in
 * `decide`, in `evaluateRequest` (`evaluate-request.ts`) and in `authorizeUse` in the order in which it is answered (contract.md, "Proxy" and
 * "Order of answers"); nothing else in the service lets anything through to `/v1/proxy` or to an upstream.
 *
 * The state is read from the database, at the request and again in the transaction that writes the use down; nothing is
 * forwarded before that is on the disk.
 */
export function createProxyAccess(dependencies: ProxyAccessDependencies): ProxyAccess {
  const { store, streams, bodies, clock } = dependencies;
  const evaluateRequest = createEvaluateRequest(dependencies);
  const refusals = createRefusals<ProxySubject>(
    (subject, _serviceName, denial) => proxyEvent(subject, denial),
    dependencies,
  );
  const authorizeUse = createAuthorizeUse(dependencies, refusals);

  function decide({ keyHash, traffic, fields, sourceAddress }: ProxyRequest): Promise<ProxyDecision> {
    if (keyHash === undefined) return Promise.resolve(denied(plainDenial('INVALID_KEY')));
    const count = countOnce(dependencies);
    return retryOnConflict(async () => {
      const subject = await store.find(keyHash);
      if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
      if (!mayAct(subject)) return refusals.denyUncounted(subject, undefined, plainDenial('AGENT_INACTIVE'));

      const evaluation = evaluateRequest(subject, { fields, sourceAddress }, clock.now());
      const verdict = await count(subject, {
        callerId: subject.proxyId,
        traffic,
        extraCounters: evaluation.extraCounters,
      });
      if (!verdict.allowed) return refusals.limited(subject, undefined, verdict, ratesIn(evaluation));

      if (evaluation.kind === 'denied') return refusals.refuse(subject, undefined, evaluation.denial);
      return authorizeUse(subject, keyHash, evaluation);
    });
  }

  async function admit(keyHash: string, bytes: number): Promise<Admittance> {
    const subject = await store.find(keyHash);
    if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
    if (!mayAct(subject)) return refusals.denyUncounted(subject, undefined, plainDenial('AGENT_INACTIVE'));
    const stream = streams.open(subject);
    if (stream === undefined) return refusals.counted(subject, NO_STREAM);
    const room = bodies.take(subject.vaultId, bytes);
    if (room !== undefined) return { outcome: 'admitted', stream, room };
    stream.close();
    return refusals.counted(subject, NO_ROOM);
  }

  return { decide, admit };
}

const NO_RATES: readonly RateUse[] = [];
const ratesIn = (evaluation: PolicyEvaluation): readonly RateUse[] =>
  evaluation.kind === 'allowed' ? evaluation.rates : NO_RATES;
