import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { authorityOf, headerPairs, signedPath, utf8, type HeaderPairs } from '@svault/shared';
import type { Target } from '../target.ts';

/** A request as it goes over the wire: nothing is added but `host`, `content-length` and `connection`. */
export interface Sent {
  readonly method: string;
  /** From `/v1`, with the query if any. */
  readonly path: string;
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
}

export interface Answer {
  readonly sent: Sent;
  readonly status: number;
  /** Names in lower case, repeated ones kept apart. */
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
}

/** No answer came: no connection, a timeout, a connection that was cut. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly sent: Sent;
  constructor(sent: Sent, cause: Error) {
    super(`no answer to ${sent.method} ${sent.path}: ${cause.message}`, { cause });
    this.sent = sent;
  }
}

export interface Client {
  /** @throws NoAnswer */
  send(request: {
    method: string;
    path: string;
    headers?: HeaderPairs;
    body?: Uint8Array | string;
  }): Promise<Answer>;
  close(): void;
}

/**
 * Sends requests exactly as they are written, malformed ones too, which rules out `fetch`: it normalises paths, joins
 * repeated headers and refuses a body on GET.
 */
export function createClient(target: Target): Client {
  const secure = target.webhookUrl.startsWith('https:');
  const agent = secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const open = secure ? httpsRequest : httpRequest;
  const base = new URL(target.webhookUrl);

  const exchange = (sent: Sent): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = [
        'host',
        authorityOf(target.webhookUrl),
        ...sent.headers.flat(),
        ...(sent.body.byteLength > 0 ? ['content-length', String(sent.body.byteLength)] : []),
      ];
      const request = open({
        agent,
        host: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port || undefined,
        method: sent.method,
        path: signedPath(target.webhookUrl, sent.path.split('?', 1)[0] ?? '') + queryOf(sent.path),
        headers,
        signal: AbortSignal.timeout(target.timeoutMs),
      });
      const fail = (error: Error): void => reject(new NoAnswer(sent, error));
      request.on('error', fail);
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('end', () => {
          const pairs = headerPairs(response.rawHeaders).map(
            ([name, value]) => [name.toLowerCase(), value] as const,
          );
          resolve({ sent, status: response.statusCode ?? 0, headers: pairs, body: Buffer.concat(chunks) });
        });
      });
      request.end(sent.body);
    });

  return {
    send: ({ method, path, headers = [], body = '' }) =>
      exchange({ method, path, headers, body: typeof body === 'string' ? utf8(body) : body }),
    close: () => agent.destroy(),
  };
}

function queryOf(path: string): string {
  const at = path.indexOf('?');
  return at === -1 ? '' : path.slice(at);
}
