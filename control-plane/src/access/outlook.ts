import { type Id, formatTime } from '@svault/shared';
import type { Counter } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { LifetimeUse, PolicyEvaluator, RateUse } from '../policies/policy-verdict.ts';
import type { AccessSubject } from './access-store.ts';
import { type Denial, plainDenial } from './decision.ts';

/** What a request asks for, and from where. */
export interface Asked {
  /** The list of grants, and no credential. */
  readonly isList: boolean;
  /** The one legal name asked for; undefined where there is none. */
  readonly serviceName: string | undefined;
  /** The caller's IP address, where it is known. */
  readonly sourceAddress: string | undefined;
}

/** A request that grant and policies allow, and what of it is still to be counted. */
interface ForeseenAccess {
  readonly serviceName: string;
  readonly grantId: Id<'grt'>;
  readonly rates: readonly RateUse[];
  readonly uses: readonly LifetimeUse[];
}

/** What stands behind the limits; `further` is what the limiter counts with it. */
export type Outlook = { readonly further: readonly Counter[] } & (
  | { readonly kind: 'list' }
  | { readonly kind: 'denied'; readonly denial: Denial }
  | { readonly kind: 'miss'; readonly serviceName: string }
  | ({ readonly kind: 'access' } & ForeseenAccess)
);

export type AccessOutlook = Extract<Outlook, { readonly kind: 'access' }>;

export type Foresee = (subject: AccessSubject, asked: Asked, nowMs: number) => Outlook;

const NOTHING: readonly Counter[] = [];
const LIST: Outlook = { kind: 'list', further: NOTHING };
const foreseenDenial = (denial: Denial): Outlook => ({ kind: 'denied', denial, further: NOTHING });

/**
 * What a request comes to once the limits let it through, in the order of contract.md. Pure, and looked at before they are
 * asked, since a miss and a policy's own rate are counted in the same step as the floor; answered only behind them.
 */
export function createForesee({
  limits,
  policies,
}: {
  readonly limits: Limits;
  readonly policies: PolicyEvaluator;
}): Foresee {
  return (subject, { isList, serviceName, sourceAddress }, nowMs) => {
    if (isList) return LIST;
    if (serviceName === undefined) return foreseenDenial(plainDenial('INVALID_SERVICE'));
    if (subject.vaultLockedAt !== null) return foreseenDenial(plainDenial('VAULT_LOCKED'));

    const grantId = liveGrant(subject, nowMs);
    if (grantId === undefined)
      return { kind: 'miss', serviceName, further: [limits.counter('agent_no_grant', subject.agentId)] };

    const verdict = policies.evaluate({
      policies: subject.policies,
      usage: subject.policyUsage,
      caller: { type: 'agent', id: subject.agentId },
      serviceName,
      sourceAddress,
      nowMs,
    });
    if (!verdict.allowed) {
      const { policy, rule, reason } = verdict;
      return foreseenDenial({ code: 'POLICY_DENIED', policy, rule, reason });
    }
    const { rates, uses } = verdict;
    const further = rates.length === 0 ? NOTHING : rates.map(({ counter }) => counter);
    return { kind: 'access', serviceName, grantId, rates, uses, further };
  };
}

/** The grant that a request rests on; undefined where there is none, or one that has lapsed. */
function liveGrant({ grantId, grantExpiresAt }: AccessSubject, nowMs: number): Id<'grt'> | undefined {
  const lapsed = grantExpiresAt !== null && grantExpiresAt <= formatTime(nowMs);
  return grantId === null || lapsed ? undefined : grantId;
}
