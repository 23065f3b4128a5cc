import { controlPlaneConfig } from '@svault/control-plane/config';
import { SCOPES } from '@svault/control-plane/limits';
import { QUOTAS, QUOTA_NOUNS, quotaScope } from '@svault/control-plane/quotas';
import { webhookConfig } from '@svault/webhook/config';

/** What reads a program's settings from an environment, and throws where the program would not start. */
export type SettingsReader = (env: NodeJS.ProcessEnv) => object;

export const SETTINGS_READERS = {
  'control-plane': controlPlaneConfig,
  webhook: webhookConfig,
} as const satisfies Readonly<Record<string, SettingsReader>>;

/** What holds where no `SV_LIMIT_<SCOPE>` says otherwise, by the scope's name. */
export const DEFAULT_LIMITS: Readonly<Record<string, { readonly limit: number }>> = {
  ...SCOPES,
  ...Object.fromEntries(QUOTA_NOUNS.map((noun) => [quotaScope(noun), { limit: QUOTAS[noun] }])),
};

/** Every name that a program asks its environment for. */
export function namesAskedFor(readSettings: (env: NodeJS.ProcessEnv) => unknown): string[] {
  const names = new Set<string>();
  const env = new Proxy<NodeJS.ProcessEnv>({}, { get: (_, name) => void names.add(String(name)) });
  try {
    readSettings(env);
  } catch {
    // Required settings are missing there, but their names have been read.
  }
  return [...names];
}
