import type { IncomingMessage } from 'node:http';
import proxyAddress from 'proxy-addr';
import { canonicalAddress, isWithin, parseAddress, parseCidr } from '@svault/shared/egress';

/**
 * The address that a request comes from, in its one notation (IPv4-mapped addresses as IPv4); undefined where it is
 * unknown. Every limit per address, every `ip_allowlist` and `geo_restrict` looks at this one.
 */
export type ClientAddress = (req: IncomingMessage) => string | undefined;

/**
 * Without trusted proxies it is the connection's other end, and no header is looked at. Where that end is a trusted
 * proxy, `X-Forwarded-For` is read from its end, past further trusted proxies, to the first address that is none of
 * them: only what a trusted proxy wrote counts. What such a proxy wrote that is no address (`unknown`, a host name, an
 * address with a port) leaves the client unknown: the proxy's own address would let every client through a list that holds it.
 *
 * @param trustedProxies ranges and addresses (`SV_TRUSTED_PROXIES`)
 * @throws RangeError for an entry that is neither
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  if (trustedProxies.length === 0) return peerAddress;
  const isTrusted = trustedAddress(trustedProxies);
  return (req) => {
    const peer = peerAddress(req);
    if (req.headers['x-forwarded-for'] === undefined || !isTrusted(peer)) return peer;
    return canonicalAddress(proxyAddress(req, (entry, hop) => hop === 0 || isTrusted(entry)));
  };
}

/** Whether a request's connection is a trusted proxy's. */
export type TrustsPeer = (req: IncomingMessage) => boolean;

/** @throws RangeError for an entry that is neither a range nor an address */
export function createTrustsPeer(trustedProxies: readonly string[]): TrustsPeer {
  const isTrusted = trustedAddress(trustedProxies);
  return (req) => isTrusted(peerAddress(req));
}

function trustedAddress(trustedProxies: readonly string[]): (text: string | undefined) => boolean {
  const ranges = trustedProxies.map((entry) => {
    const range = parseCidr(entry);
    if (range === undefined) throw new RangeError(`neither a CIDR range nor an address: ${entry}`);
    return range;
  });
  return (text) => {
    const address = text === undefined ? undefined : parseAddress(text);
    return address !== undefined && ranges.some((range) => isWithin(address, range));
  };
}

const MAPPED = '::ffff:';

/** The system gives IPv4 in its one notation; a link-local IPv6 address comes with the name of the interface. */
function peerAddress({ socket }: IncomingMessage): string | undefined {
  const { remoteAddress } = socket;
  if (remoteAddress === undefined || !remoteAddress.includes(':')) return remoteAddress;
  if (remoteAddress.startsWith(MAPPED) && remoteAddress.includes('.'))
    return remoteAddress.slice(MAPPED.length);
  return canonicalAddress(remoteAddress.replace(/%.*$/, ''));
}
