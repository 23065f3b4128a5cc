import type { RuleType } from '../core/policy.ts';

/**
 * What an agent is told of the rule that refused it: enough to know whether trying again makes sense, and nothing of the
 * rule's settings (specification, `whoami`: never a policy's rule configuration).
 */
export const REASONS: Readonly<Record<RuleType, string>> = {
  time_window: 'It is not available at this time.',
  ip_allowlist: 'It is not available from this network address.',
  geo_restrict: 'It is not available from this location.',
  rate_limit: 'It was asked for too often; try again later.',
  max_usage: 'It was used as often as it may be.',
  manual_approval: 'It needs an approval, and approvals are not available.',
};
