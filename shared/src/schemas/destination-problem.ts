import { markersIn } from '../proxy-headers.ts';
import { isAllowedDestination } from '../allowed-hosts.ts';
import { areHeaderTemplates, parseOutgoingUrl } from './destinations.ts';
import type { DestinationProblem } from './proxy-failure.ts';
import type { ProxyConfig } from './storage.ts';

/**
 * Whether a stored configuration may use a record: the settings that are sealed with the secret decide, since the
 * control plane wrote the configuration. The webhook asks at each call, as a row may have been changed outside of it.
 *
 * @returns undefined if it may
 */
export function destinationProblem(
  config: Pick<ProxyConfig, 'upstreamUrl' | 'headerTemplates'>,
  settings: { readonly allowedHosts: readonly string[]; readonly allowedHeaders: readonly string[] },
): DestinationProblem | undefined {
  const url = parseOutgoingUrl(config.upstreamUrl);
  if (url === undefined) return { cause: 'url' };
  if (!areHeaderTemplates(config.headerTemplates)) return { cause: 'template' };
  if (!isAllowedDestination(url, settings.allowedHosts)) return { cause: 'host' };
  const templates = Object.entries(config.headerTemplates);
  const allowed = new Set(settings.allowedHeaders.map((name) => name.toLowerCase()));
  const stray = templates.find(([name, value]) => markersIn(value) > 0 && !allowed.has(name.toLowerCase()));
  return stray && { cause: 'header', header: stray[0].toLowerCase() };
}
