import type { RequestSource } from './load.ts';

/** The bytes of a GET over a connection that stays open. */
export function getRequest(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\n${lines.join('')}\r\n`);
}

/** The bytes of a POST of JSON over a connection that stays open. */
export function postRequest(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): Buffer {
  const json = JSON.stringify(body);
  const all = { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\n${lines.join('')}\r\n${json}`);
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
