import { once } from 'node:events';
import { type IncomingHttpHeaders, type RequestListener, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as a fake server got it. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a fake server answers. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text as it is; anything else as JSON. */
  readonly body?: unknown;
}

/** A service or a webhook that answers as a test says, and remembers what it got. */
export interface FakeServer {
  readonly url: string;
  readonly received: Received[];
  close(): Promise<void>;
}

export async function fakeServer(answer: (request: Received) => Answer): Promise<FakeServer> {
  const received: Received[] = [];
  const listener: RequestListener = (req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const { method = '', url: path = '', headers } = req;
      const request = { method, path, headers, body: Buffer.concat(chunks).toString() };
      received.push(request);
      const { status, headers: more = {}, body = '' } = answer(request);
      const isRaw = typeof body === 'string' || body instanceof Uint8Array;
      res.writeHead(status, { 'content-type': 'application/json', ...more });
      res.end(isRaw ? body : JSON.stringify(body));
    });
  };
  const server = createServer({ maxHeaderSize: 1024 * 1024 }, listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
