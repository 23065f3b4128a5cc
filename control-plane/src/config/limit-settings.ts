import { type Setting, integer, optional } from '@svault/server-kit/settings';
import { LIMIT_SETTING_PREFIX } from '@svault/server-kit/setting-names';
import { QUOTA_NOUNS, quotaScope } from '../core/quotas.ts';
import { type LimitScope, SCOPES } from '../limits/scopes.ts';

const LIMIT_SCOPES: readonly LimitScope[] = [
  ...(Object.keys(SCOPES) as (keyof typeof SCOPES)[]),
  'user_aggregate',
  ...QUOTA_NOUNS.map(quotaScope),
];

/** Far above anything that is still a limit. */
const MAX = 1_000_000_000;

type LimitSettings = {
  readonly [S in LimitScope as `SV_LIMIT_${Uppercase<S>}`]: Setting<number | undefined>;
};

/** `agent_credentials` → `SV_LIMIT_AGENT_CREDENTIALS` */
const settingOf = (scope: LimitScope): string => LIMIT_SETTING_PREFIX + scope.toUpperCase();

/** One setting for each scope: another count within the scope's own window. */
export const LIMIT_SETTINGS = Object.fromEntries(
  LIMIT_SCOPES.map((scope) => [
    settingOf(scope),
    optional(integer({ min: 1, max: MAX, file: false, description: `limit of the scope ${scope}` })),
  ]),
) as LimitSettings;

/** What an operator changed. */
export function limitOverrides(
  values: Readonly<Record<string, unknown>>,
): Partial<Readonly<Record<LimitScope, number>>> {
  const given = LIMIT_SCOPES.map((scope) => [scope, values[settingOf(scope)]] as const);
  return Object.fromEntries(given.filter(([, limit]) => limit !== undefined));
}

/** Says what there is, where a name of a limit is misspelt. */
export const explainUnknownLimit = (name: string): string | undefined =>
  name.startsWith(LIMIT_SETTING_PREFIX)
    ? `${name} names no limit; those there are: ${Object.keys(LIMIT_SETTINGS).join(', ')}`
    : undefined;
