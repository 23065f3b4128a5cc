import { markedNames } from '../proxy-headers.ts';
import { isAllowedDestination } from '../allowed-hosts.ts';
import { credentialHeaders, fitsSigning, isAwsSigning } from './aws-signing.ts';
import { areHeaderTemplates, areQueryTemplates, parseOutgoingUrl } from './destinations.ts';
import type { DestinationProblem } from './proxy-failure.ts';
import type { ProxyConfig } from './storage.ts';

/**
 * Whether a stored configuration may use a record: the settings that are sealed with the secret decide, since the
 * control plane wrote the configuration. The webhook asks at each call, as a row may have been changed outside of it.
 *
 * @returns undefined if it may
 */
export function destinationProblem(
  config: Pick<ProxyConfig, 'upstreamUrl' | 'headerTemplates' | 'kind' | 'queryTemplates' | 'signing'>,
  settings: {
    readonly allowedHosts: readonly string[];
    readonly allowedHeaders: readonly string[];
    readonly allowedQuery?: readonly string[] | undefined;
  },
): DestinationProblem | undefined {
  const { queryTemplates, signing } = config;
  const url = parseOutgoingUrl(config.upstreamUrl);
  if (url === undefined || (config.kind === 'http' && url.search !== '')) return { cause: 'url' };
  if (!areHeaderTemplates(config.headerTemplates)) return { cause: 'template' };
  if (queryTemplates !== undefined && !(config.kind === 'http' && areQueryTemplates(queryTemplates)))
    return { cause: 'template' };
  if (signing !== undefined && !(isAwsSigning(signing) && fitsSigning(config))) return { cause: 'signing' };
  if (!isAllowedDestination(url, settings.allowedHosts)) return { cause: 'host' };
  const allowed = new Set(settings.allowedHeaders.map((name) => name.toLowerCase()));
  const header = credentialHeaders(config).find((name) => !allowed.has(name));
  if (header !== undefined) return { cause: 'header', header };
  const parameter = markedNames(queryTemplates ?? {}).find(
    (name) => settings.allowedQuery?.includes(name) !== true,
  );
  return parameter === undefined ? undefined : { cause: 'parameter', parameter };
}
