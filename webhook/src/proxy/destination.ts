import { markersIn } from '@svault/shared';
import {
  type ProxyConfig,
  allowedHostFor,
  headerTemplatesSchema,
  isAllowedDestination,
  isAllowedHost,
  outgoingUrlSchema,
} from '@svault/shared/schemas';
import type { SealedSettings } from '../vault/record.ts';

/**
 * Why a configuration may not use a record (protocol section 5.6). Closed.
 *
 * - `url`: the upstream's address is none that may be stored
 * - `host`: the record's owner did not allow this scheme, host and port together
 * - `header`: a template is none that may be stored: it sets what decides how a message travels, for instance
 * - `marker`: the credential would go into a header that the record's owner did not allow
 */
export type DestinationProblem = 'url' | 'host' | 'header' | 'marker';

/**
 * Whether a stored configuration may use a record: what was sealed with the secret decides, since the service wrote the
 * configuration. All of it is looked at again on each call, as a row may have been changed outside this program.
 *
 * @returns undefined where it may
 */
export function destinationProblem(
  config: Pick<ProxyConfig, 'upstreamUrl' | 'headerTemplates'>,
  settings: Pick<SealedSettings, 'allowedHosts' | 'allowedHeaders'>,
): DestinationProblem | undefined {
  if (!outgoingUrlSchema.safeParse(config.upstreamUrl).success) return 'url';
  if (!isAllowedDestination(new URL(config.upstreamUrl), settings.allowedHosts)) return 'host';
  if (!headerTemplatesSchema.safeParse(config.headerTemplates).success) return 'header';
  const templates = Object.entries(config.headerTemplates);
  const allowed = new Set(settings.allowedHeaders.map((name) => name.toLowerCase()));
  const strays = templates.some(([name, value]) => markersIn(value) > 0 && !allowed.has(name.toLowerCase()));
  return strays ? 'marker' : undefined;
}

/** What may be copied into a shell: the service chose both the address and the name. */
const PLAIN_WORD = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** What is wrong with a destination, and the command that mends it; what an agent is told is the service's affair. */
export function destinationMessage(
  problem: DestinationProblem,
  { upstreamUrl, serviceName }: Pick<ProxyConfig, 'upstreamUrl' | 'serviceName'>,
): string {
  switch (problem) {
    case 'url':
      return 'The proxy’s upstream is not an http(s) URL without userinfo and fragment.';
    case 'header':
      return 'The proxy’s templates set a header that no template may set.';
    case 'marker':
      return 'The proxy would put the credential into a header that is not among its allowed headers.';
    case 'host': {
      const url = new URL(upstreamUrl);
      const entry = allowedHostFor(url);
      if (!isAllowedHost(entry) || !PLAIN_WORD.test(serviceName))
        return 'The upstream’s scheme, host and port are not among the credential’s allowed hosts.';
      const called =
        url.protocol === 'http:'
          ? `is called by plain http, which the allowed hosts of \`${serviceName}\` do not include`
          : `is not an allowed host of \`${serviceName}\``;
      return `Host \`${url.host}\` ${called}. Run \`svault set ${serviceName} --allow-host ${entry}\`.`;
    }
  }
}
