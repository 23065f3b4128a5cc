import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

/** One request of a pipeline. */
export interface PipelinedRequest {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** In the place of a body: a form, as it is sent. */
  readonly form?: string;
}

/**
 * Sends requests one behind the other over one connection, without waiting for their answers: for what is asked hundreds
 * of times, where only the statuses are looked at.
 *
 * @returns the statuses in the order of the requests
 */
export async function pipeline(url: string, requests: readonly PipelinedRequest[]): Promise<number[]> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(requests.map((request, n) => written(request, n === requests.length - 1)).join(''));
  const answers = await text(socket);
  const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  if (statuses.length !== requests.length)
    throw new Error(`${statuses.length} answers to ${requests.length} requests`);
  return statuses;
}

function written(request: PipelinedRequest, isLast: boolean): string {
  const { method = 'GET', path, headers = {}, body, form } = request;
  const content = form ?? (body === undefined ? '' : JSON.stringify(body));
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
  const lines = {
    host: '127.0.0.1',
    ...headers,
    ...(content !== '' && {
      'content-type': type,
      'content-length': String(Buffer.byteLength(content)),
    }),
    ...(isLast && { connection: 'close' }),
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n${content}`;
}
