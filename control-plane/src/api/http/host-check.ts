import type { IncomingMessage } from 'node:http';
import { parseAddress } from '@svault/shared/egress';
import type { TrustsPeer } from './client-address.ts';

/** Whether a request is addressed to this service, as far as its `Host` tells. */
export type HostCheck = (req: IncomingMessage) => boolean;

/**
 * The guard against DNS rebinding: a page of a site whose name leads to this service's address sends that name. So a name
 * must be the base URL's or `localhost`; an attacker cannot point an IP address here. A trusted
 * proxy may call the service what it likes.
 *
 * @param baseUrl the service's public address
 */
export function createHostCheck(baseUrl: string, trustsPeer: TrustsPeer): HostCheck {
  const { host: own, hostname } = new URL(baseUrl);
  return (req) => {
    const { host } = req.headers;
    // HTTP/1.0 need not name a host, and no browser speaks it.
    if (host === own || host === undefined) return true;
    const name = nameIn(host);
    return name === hostname || name === 'localhost' || isAddress(name) || trustsPeer(req);
  };
}

/** For a request that this guard rejects. */
export const FOREIGN_HOST =
  'This service is not called by that name. Use the address that SV_BASE_URL names; a reverse proxy that sends another Host belongs in SV_TRUSTED_PROXIES.';

/** RFC 9110 section 7.2, without the port. */
const nameIn = (host: string): string => host.replace(/:\d*$/, '').toLowerCase();

const isAddress = (name: string): boolean => parseAddress(name.replace(/^\[(.*)\]$/, '$1')) !== undefined;
