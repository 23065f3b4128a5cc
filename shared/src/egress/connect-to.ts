import { withoutBrackets } from './admission.ts';

/** Where a connection is made. */
export interface Place {
  /** Name or address, IPv6 without brackets. */
  readonly hostname: string;
  readonly port: string;
}

/**
 * What the operator named in `SV_CONNECT_TO`: another place for the connections of one host and port.
 *
 * @param from as undici hands it to a connector, or a URL
 */
export type ConnectTo = (from: {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: string | null;
}) => Place | undefined;

const ENTRY = /^([^\s=/@]+:\d{1,5})=([^\s=/@]+:\d{1,5})$/;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/**
 * Reads the entries `HOST:PORT=HOST:PORT`: a call to the first is connected to the second, as with curl's `--connect-to`.
 * What is sent stays as it was, with the `Host` and the name for TLS of the URL.
 *
 * @throws RangeError that names the entry which has another form
 */
export function parseConnectTo(entries: readonly string[]): ConnectTo {
  const places = new Map<string, Place>();
  for (const entry of entries) {
    const [, from, to] = ENTRY.exec(entry) ?? [];
    const [called, place] = [placeOf(from), placeOf(to)];
    if (called === undefined || place === undefined)
      throw new RangeError(`not of the form HOST:PORT=HOST:PORT: ${JSON.stringify(entry)}`);
    places.set(keyOf(called), place);
  }
  return ({ protocol, hostname, port }) =>
    places.get(keyOf({ hostname: withoutBrackets(hostname), port: port || (DEFAULT_PORTS[protocol] ?? '') }));
}

const keyOf = ({ hostname, port }: Place): string => `${hostname} ${port}`;

/** Host and port in a URL's own spelling, where they are of one. */
function placeOf(text = ''): Place | undefined {
  if (!URL.canParse(`http://${text}`)) return undefined;
  const { hostname, port } = new URL(`http://${text}`);
  return { hostname: withoutBrackets(hostname), port: port || '80' };
}
