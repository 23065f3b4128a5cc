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
 * Why a configuration may not use a record (PROTOCOL.md section 5.6).
 *
 * - `url`: the upstream's address is not a valid one
 * - `host`: the record's owner did not allow this scheme, host and port together
 * - `header`: a template sets a header that is not permitted, such as one that routes the message
 * - `marker`: the credential would go into a header that the record's owner did not allow
 */
type DestinationProblem = 'url' | 'host' | 'header' | 'marker';

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
  if (!outgoingUrlSchema.safeParse(config.upstreamUrl).success) return 'url';
  if (!isAllowedDestination(new URL(config.upstreamUrl), settings.allowedHosts)) return 'host';
  if (!headerTemplatesSchema.safeParse(config.headerTemplates).success) return 'header';
  const templates = Object.entries(config.headerTemplates);
  const allowed = new Set(settings.allowedHeaders.map((name) => name.toLowerCase()));
  const strays = templates.some(([name, value]) => markersIn(value) > 0 && !allowed.has(name.toLowerCase()));
  return strays ? 'marker' : undefined;
}

/** Safe to copy into a shell: the control plane chose both the address and the name. */
const PLAIN_WORD = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** What is wrong with a destination, and the command that corrects it. */
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
