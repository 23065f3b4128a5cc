import { isIP } from 'node:net';
import { withoutBrackets } from './admission.ts';
import { isHostName } from './allow-list.ts';

/** Where a connection is made. */
export interface Place {
  /** Name or address, IPv6 without brackets. */
  readonly hostname: string;
  readonly port: string;
}

/** The operator's `SV_CONNECT_TO`: where to connect for a host and port, as undici or a URL names them. */
export type ConnectTo = (from: {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: string | null;
}) => Place | undefined;

const ENTRY = /^([^\s=/@]+:\d{1,5})=([^\s=/@]+:\d{1,5})$/;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/**
 * Reads the entries `HOST:PORT=HOST:PORT`: a call to the first is connected to the second, as with curl's
 * `--connect-to`, and that is looked up no further here. What is sent stays as it was, with the `Host` and the name for
 * TLS of the URL.
 * @throws RangeError that names an invalid or repeated entry
 */
export function parseConnectTo(entries: readonly string[]): ConnectTo {
  const places = new Map<string, Place>();
  for (const entry of entries) {
    const [, from, to] = ENTRY.exec(entry) ?? [];
    const [called, place] = [placeOf(from), placeOf(to)];
    if (called === undefined || place === undefined)
      throw new RangeError(`not of the form HOST:PORT=HOST:PORT: ${JSON.stringify(entry)}`);
    if (places.has(keyOf(called)))
      throw new RangeError(`a second place for the same host and port: ${JSON.stringify(entry)}`);
    places.set(keyOf(called), place);
  }
  return ({ protocol, hostname, port }) =>
    places.get(keyOf({ hostname: withoutBrackets(hostname), port: port || (DEFAULT_PORTS[protocol] ?? '') }));
}

const keyOf = ({ hostname, port }: Place): string => `${hostname} ${port}`;

/** Host and port in a URL's spelling; undefined for any other text. */
function placeOf(text = ''): Place | undefined {
  if (!URL.canParse(`http://${text}`)) return undefined;
  const url = new URL(`http://${text}`);
  const { port, pathname, search, hash } = url;
  const hostname = withoutBrackets(url.hostname);
  const isMore = pathname !== '/' || search !== '' || hash !== '' || text.includes('\\');
  if (isMore || port === '0' || (isIP(hostname) === 0 && !isHostName(hostname))) return undefined;
  return { hostname, port: port || '80' };
}
