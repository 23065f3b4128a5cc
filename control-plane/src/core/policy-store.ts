import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';
import type { Policy, PolicyQuestion, PolicyTarget } from './policy.ts';

/**
 * Policies, their attachments, and the counts of their `max_usage` rules. Every change moves the vault's policy revision, so
 * that no access that was decided before it is written down behind it.
 */
export interface PolicyStore {
  add(policy: Policy): Promise<void>;
  get(vaultId: Id<'vlt'>, id: string): Promise<Policy | undefined>;
  /** Oldest first. @param target only those attached to it; undefined: all */
  list(vaultId: Id<'vlt'>, target: PolicyTarget | undefined, page: PageRequest): Promise<Page<Policy>>;
  /** Writes name, `enabled` and rules; counts of rules that are there no more are dropped. */
  update(before: Policy, after: Policy): Promise<void>;
  /** With its attachments and counts. @returns how many attachments it had */
  remove(policy: Policy): Promise<number>;

  /** @returns false, and changes nothing, where it is attached there already */
  attach(policy: Policy, target: PolicyTarget): Promise<boolean>;
  /** With the counts of its rules there. @returns false, and changes nothing, where it is not attached there */
  detach(policy: Policy, target: PolicyTarget): Promise<boolean>;
  /** All policies of a target, with the counts there. @returns which ones, by id */
  detachAll(vaultId: Id<'vlt'>, target: PolicyTarget): Promise<readonly Id<'pol'>[]>;
  /** By type and id. */
  attachments(policyId: Id<'pol'>, page: PageRequest): Promise<Page<PolicyTarget>>;
  countOf(vaultId: Id<'vlt'>, target: PolicyTarget): Promise<number>;

  /** What a request of this caller for this service is held against, in the form of `PolicyQuestion`. */
  questionOf(
    vaultId: Id<'vlt'>,
    caller: PolicyQuestion['caller'],
    serviceName: string,
  ): Promise<Pick<PolicyQuestion, 'policies' | 'usage'>>;
}
