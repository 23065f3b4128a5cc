import { addressVerdict } from './address-verdict.ts';
import type { AllowList } from './allow-list.ts';
import { EgressRefused } from './egress-errors.ts';

/** Where a call goes. */
export interface Destination {
  readonly protocol: 'https:' | 'http:';
  /** As in a URL: lower case, addresses in their usual notation, IPv6 without brackets. */
  readonly host: string;
}

/**
 * Reads an address to call: `https` or `http`, no userinfo. The URL parser turns decimal, octal, hexadecimal and
 * short IPv4 literals into the usual notation, so that there is one form to check.
 * @throws EgressRefused
 */
export function parseTarget(text: string): { readonly url: URL; readonly destination: Destination } {
  if (!URL.canParse(text)) throw new EgressRefused('malformed_url');
  const url = new URL(text);
  const { protocol } = url;
  if (protocol !== 'https:' && protocol !== 'http:') throw new EgressRefused('scheme', protocol);
  if (url.username !== '' || url.password !== '') throw new EgressRefused('userinfo');
  return { url, destination: { protocol, host: withoutBrackets(url.hostname) } };
}

/** The host of a URL as `node:net` writes it. */
export function withoutBrackets(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** PROTOCOL.md section 6: each address is public or named by the operator, and for `http` named. @throws EgressRefused */
export function admit(destination: Destination, addresses: readonly string[], allow: AllowList): void {
  if (allow.namesHost(destination.host)) return;
  for (const address of addresses) {
    if (allow.namesAddress(address)) continue;
    const verdict = addressVerdict(address);
    if (verdict !== 'public') throw new EgressRefused('address', `${destination.host}: ${verdict}`);
    if (destination.protocol === 'http:') throw new EgressRefused('scheme', `http to ${destination.host}`);
  }
}
