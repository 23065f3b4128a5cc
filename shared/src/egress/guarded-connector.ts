import { lookup as systemLookup } from 'node:dns/promises';
import { type LookupFunction, isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { callbackify } from 'node:util';
import { buildConnector } from 'undici';
import { type Destination, withoutBrackets, admit } from './admission.ts';
import type { AllowList } from './allow-list.ts';
import type { ConnectTo } from './connect-to.ts';
import { EgressFailed, EgressRefused } from './egress-errors.ts';

/** All addresses of a host name, in the order in which they are to be tried. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

const CONNECT_TIMEOUT_MS = 10_000;
/** For each address of a name. Node's own 250 ms give up on servers that are merely far away. */
const ATTEMPT_TIMEOUT_MS = 2_000;

/** The machine's resolver. */
export const systemResolve: Resolve = async (hostname) => {
  const found = await systemLookup(hostname, { all: true });
  return found.map(({ address }) => address);
};

/**
 * A connector for undici that connects to addresses it has checked and to no other. A name is resolved once per
 * connection, inside the lookup of the very socket, so that no second answer of the resolver is ever asked for. An
 * address literal never reaches a lookup; it is checked before the socket is made. Where the operator named a place to
 * connect to instead, that is what they chose, so nothing is checked.
 */
export function guardedConnector(
  allow: AllowList,
  resolve: Resolve,
  connectTo: ConnectTo,
): buildConnector.connector {
  const connectors = {
    'https:': connectorFor({ lookup: guardedLookup('https:', allow, resolve) }),
    'http:': connectorFor({ lookup: guardedLookup('http:', allow, resolve) }),
  };
  return (options, callback) => {
    const { protocol } = options;
    const host = withoutBrackets(options.hostname);
    try {
      if (protocol !== 'https:' && protocol !== 'http:') throw new EgressRefused('scheme', protocol);
      const instead = connectTo({ protocol, hostname: host, port: options.port });
      if (instead !== undefined) return unguarded(host)({ ...options, ...instead }, callback);
      if (isIP(host) !== 0) admit({ protocol, host }, [host], allow);
      connectors[protocol](options, callback);
    } catch (error) {
      callback(error instanceof Error ? error : new EgressFailed('connect', { cause: error }), null);
    }
  };
}

/** @param host of the URL, which the certificate is for, also where it is an address: for those TLS names no server. */
const unguarded = (host: string): buildConnector.connector =>
  connectorFor({
    checkServerIdentity: (_place, certificate) => checkServerIdentity(host, certificate),
  });

function connectorFor(
  more: Pick<ConnectionOptions, 'lookup' | 'checkServerIdentity'>,
): buildConnector.connector {
  return buildConnector({
    allowH2: false,
    timeout: CONNECT_TIMEOUT_MS,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
    // Said here because an environment variable could say otherwise.
    rejectUnauthorized: true,
    ...more,
  });
}

/** A lookup in the form of `node:net` that answers only addresses which have passed. */
function guardedLookup(
  protocol: Destination['protocol'],
  allow: AllowList,
  resolve: Resolve,
): LookupFunction {
  const admitted = callbackify(async (host: string) => {
    const addresses = await resolve(host);
    if (addresses.length === 0) throw new EgressFailed('dns');
    admit({ protocol, host }, addresses, allow);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  });
  return (host, options, callback) => {
    admitted(host, (error, found) => {
      const [first] = found ?? [];
      if (first === undefined) callback(error, '');
      else if (options.all === true) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}
