import { once } from 'node:events';
import { type IncomingHttpHeaders, type RequestListener, createServer } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as a fake server got it. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a fake server answers. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text as it is; anything else as JSON. */
  readonly body?: unknown;
}

/** A service or a webhook that answers as a test says, and remembers what it got. */
export interface FakeServer {
  readonly url: string;
  readonly received: Received[];
  /** Method and path of each. */
  asked(): string[];
}

/** Has a server listen until the test has finished. @returns its address */
export const listening = async (server: TestServer): Promise<string> =>
  `http://127.0.0.1:${await listeningPort(server)}`;

/** Has a server listen until the test has finished. @returns its port */
export async function listeningPort(server: TestServer): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections?.();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

type TestServer = NetServer & { closeAllConnections?(): void };

export const answering = (listener: RequestListener): Promise<string> => listening(createServer(listener));

/** @param answer undefined: none */
export async function fakeServer(answer: (request: Received) => Answer | undefined): Promise<FakeServer> {
  const received: Received[] = [];
  const listener: RequestListener = (req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const { method = '', url: path = '', headers } = req;
      const request = { method, path, headers, body: Buffer.concat(chunks).toString() };
      received.push(request);
      const given = answer(request);
      if (given === undefined) return;
      const { status = 200, headers: more = {}, body = '' } = given;
      const isRaw = typeof body === 'string' || body instanceof Uint8Array;
      res.writeHead(status, { 'content-type': 'application/json', ...more });
      res.end(isRaw ? body : JSON.stringify(body));
    });
  };
  const url = await listening(createServer({ maxHeaderSize: 1024 * 1024 }, listener));
  return { url, received, asked: () => received.map(({ method, path }) => `${method} ${path}`) };
}
