/** Gives the next request as bytes, or undefined when there is none left. */
export type RequestSource = () => Buffer | undefined;

/** The bytes of a GET over a connection that stays open, or with a body of a POST of it as JSON. */
export function requestBytes(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: object,
): Buffer {
  const json = body === undefined ? '' : JSON.stringify(body);
  const ofBody = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) };
  const all = { host: new URL(url).host, ...headers, ...(body !== undefined && ofBody) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${json}`,
  );
}

/** The same requests over and over, in turn. */
export function inTurn(requests: readonly Buffer[]): RequestSource {
  let next = 0;
  return () => requests[next++ % requests.length];
}

/** Each request once. */
export function onlyOnce(requests: readonly Buffer[]): RequestSource {
  let next = 0;
  return () => requests[next++];
}
