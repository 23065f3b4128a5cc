import type { Actor } from '../core/actor.ts';
import type { Stores } from '../core/stores.ts';
import type { ExplainingEvaluator, Explanation, PolicyDecision } from '../policies/evaluate.ts';
import { type TargetStores, requireTarget } from './policy-targets.ts';
import type { PolicyInput } from '../core/policy.ts';

/** A request that is only imagined. */
export interface ImaginedRequest {
  readonly caller: PolicyInput['caller'];
  readonly serviceName: string;
  readonly atMs: number;
  readonly ip: string | undefined;
}

/** What the policies would say to it. Counts nothing, and looks at nothing but policies: no grant, no lock, no limit. */
export interface Simulation extends Explanation {
  readonly verdict: PolicyDecision;
}

/** @throws AppError NOT_FOUND for an unknown agent or proxy; CONFLICT for one that is deleted or revoked */
export async function simulate(
  stores: Pick<Stores, 'policies'> & TargetStores,
  evaluator: ExplainingEvaluator,
  actor: Actor,
  { caller, serviceName, atMs, ip }: ImaginedRequest,
): Promise<Simulation> {
  await requireTarget(stores, actor, caller);
  const attached = await stores.policies.inputOf(actor.vaultId, caller, serviceName);
  const input = { ...attached, caller, serviceName, sourceAddress: ip, nowMs: atMs };
  return { verdict: evaluator.evaluate(input), ...evaluator.explain(input) };
}
