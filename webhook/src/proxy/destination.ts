import { markersIn } from '@svault/shared';
import {
  type DestinationProblem,
  type ProxyConfig,
  headerTemplatesSchema,
  isAllowedDestination,
  outgoingUrlSchema,
} from '@svault/shared/schemas';
import type { SealedSettings } from '../vault/record.ts';

/**
 * Whether a stored configuration may use a record: the settings that are sealed with the secret decide, since the
 * control plane wrote the configuration. Each call checks all of it again, as a row may have been changed outside this
 * program.
 *
 * @returns undefined if it may
 */
export function destinationProblem(
  config: Pick<ProxyConfig, 'upstreamUrl' | 'headerTemplates'>,
  settings: Pick<SealedSettings, 'allowedHosts' | 'allowedHeaders'>,
): DestinationProblem | undefined {
  if (!outgoingUrlSchema.safeParse(config.upstreamUrl).success) return { cause: 'url' };
  if (!headerTemplatesSchema.safeParse(config.headerTemplates).success) return { cause: 'template' };
  if (!isAllowedDestination(new URL(config.upstreamUrl), settings.allowedHosts)) return { cause: 'host' };
  const templates = Object.entries(config.headerTemplates);
  const allowed = new Set(settings.allowedHeaders.map((name) => name.toLowerCase()));
  const stray = templates.find(([name, value]) => markersIn(value) > 0 && !allowed.has(name.toLowerCase()));
  return stray && { cause: 'header', header: stray[0].toLowerCase() };
}
