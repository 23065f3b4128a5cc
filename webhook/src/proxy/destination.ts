import { markersIn } from '@svault/shared';
import { type ProxyConfig, headerTemplatesSchema, outgoingUrlSchema } from '@svault/shared/schemas';
import type { SealedSettings } from '../vault/record.ts';

/**
 * Why a configuration may not use a record (protocol section 5.6). Closed.
 *
 * - `url`: the upstream's address is none that may be stored
 * - `host`: the record's owner did not allow it
 * - `header`: a template is none that may be stored: it sets what decides how a message travels, for instance
 * - `marker`: the credential would go into a header that the record's owner did not allow
 */
export type DestinationProblem = 'url' | 'host' | 'header' | 'marker';

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

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
  if (!isHostAllowed(new URL(config.upstreamUrl), settings.allowedHosts)) return 'host';
  if (!headerTemplatesSchema.safeParse(config.headerTemplates).success) return 'header';
  const templates = Object.entries(config.headerTemplates);
  const allowed = new Set(settings.allowedHeaders.map((name) => name.toLowerCase()));
  const strays = templates.some(([name, value]) => markersIn(value) > 0 && !allowed.has(name.toLowerCase()));
  return strays ? 'marker' : undefined;
}

/** Protocol section 5.5: an entry without a port means the scheme's default port only; `*` is any host and port. */
function isHostAllowed({ protocol, hostname, port }: URL, allowedHosts: readonly string[]): boolean {
  const defaultPort = DEFAULT_PORTS[protocol] ?? '';
  // The URL parser leaves the default port out.
  const usesDefault = port === '';
  const names = [`${hostname}:${usesDefault ? defaultPort : port}`, ...(usesDefault ? [hostname] : [])];
  return allowedHosts.some((entry) => entry === '*' || names.includes(entry));
}
