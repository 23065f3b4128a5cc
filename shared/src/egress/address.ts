import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address in a form that can be held against a range. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Cidr = [Address, number];

const CIDR = /^([0-9a-fA-F:.]+)\/(0|[1-9][0-9]{0,2})$/;

/** Reads an address in its usual notation, IPv4-mapped as IPv4; undefined for all else: a zone id, `127.1`, a name. */
export function parseAddress(text: string): Address | undefined {
  // node:net first: ipaddr.js also reads short, octal and hexadecimal forms.
  const version = isIP(text);
  if (version === 0 || text.includes('%')) return undefined;
  if (version === 4) return ipaddr.parse(text);
  // ipaddr.js takes `::1.2.3.4`, which is IPv4-compatible, for an IPv4-mapped address; the URL parser writes it without
  // dots.
  const dotless = text.includes('.') ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text;
  const address = ipaddr.IPv6.parse(dotless);
  return isMapped(address) ? address.toIPv4Address() : address;
}

/** RFC 4291 section 2.5.5.2. ipaddr.js's own look holds an address against every range that it knows. */
const isMapped = ({ parts }: ipaddr.IPv6): boolean =>
  parts[5] === 0xffff && parts.slice(0, 5).every((part) => part === 0);

/** The one notation of an address: RFC 5952, dotted decimal for IPv4 and IPv4-mapped; undefined for none. */
export function canonicalAddress(text: string): string | undefined {
  // Of an IPv4 address node:net takes no other notation than this one.
  return isIP(text) === 4 ? text : parseAddress(text)?.toString();
}

/** Reads a range (`10.1.0.0/16`, `fd00::/8`) or an address, IPv4-mapped ones as IPv4; undefined for anything else. */
export function parseCidr(text: string): Cidr | undefined {
  const [, network = text, bits] = CIDR.exec(text) ?? [];
  const address = parseAddress(network);
  if (address === undefined) return undefined;
  const width = address.kind() === 'ipv4' ? 32 : 128;
  if (bits === undefined) return [address, width];
  const unmapped = width === 32 && network.includes(':') ? Number(bits) - 96 : Number(bits);
  return unmapped >= 0 && unmapped <= width ? [address, unmapped] : undefined;
}

/** Whether an address lies in a range; never across IPv4 and IPv6. */
export function isWithin(address: Address, [network, bits]: Cidr): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}
