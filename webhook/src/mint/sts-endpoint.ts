import { type Egress, type Resolve, createEgress } from '@svault/shared/egress';

/** The STS endpoint that the operator's settings name, and a way out that lets exactly its host through. */
export interface StsEndpoint {
  readonly url: string;
  readonly egress: Pick<Egress, 'request' | 'close'>;
}

/**
 * Protocol section 6: what the operator names is exempt from the address rules; nobody else's calls use this way.
 *
 * @param resolve instead of the machine's resolver
 * @throws RangeError where the host is neither a plain name nor an address
 */
export function stsEndpoint(url: string, resolve?: Resolve): StsEndpoint {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return { url, egress: createEgress({ allow: [host], ...(resolve !== undefined && { resolve }) }) };
}
