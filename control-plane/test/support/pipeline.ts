import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

/**
 * Sends GET requests one behind the other over one connection, without waiting for their answers: for what is asked hundreds
 * of times, where only the statuses are looked at.
 *
 * @returns the statuses in the order of the requests
 */
export async function pipeline(
  url: string,
  requests: readonly { readonly path: string; readonly headers: Readonly<Record<string, string>> }[],
): Promise<number[]> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  for (const [n, { path, headers }] of requests.entries()) {
    const lines = { host: hostname, ...headers, ...(n === requests.length - 1 && { connection: 'close' }) };
    const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${path} HTTP/1.1\r\n${head.join('')}\r\n`);
  }
  const answers = await text(socket);
  const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  if (statuses.length !== requests.length)
    throw new Error(`${statuses.length} answers to ${requests.length} requests`);
  return statuses;
}
