import type { Row } from './row.ts';

const UNDER = 'ABAC policy';

/** The specification's "ABAC policy", in the words of specification.md. What a rule blocks is said under "Errors". */
export const POLICY_ROWS = {
  'name and rules': { under: UNDER, says: 'A policy has a name and one or more rules.' },
  'rule types': {
    under: UNDER,
    says: 'Rule types: time_window, ip_allowlist, geo_restrict, rate_limit, max_usage (lifetime usage cap), manual_approval.',
  },
  manual_approval: {
    under: UNDER,
    says: 'manual_approval is currently unavailable. It denies every request the policy is attached to.',
  },
  targets: { under: UNDER, says: 'A policy attaches to an agent, a proxy, or a token.' },
} as const satisfies Readonly<Record<string, Row>>;
