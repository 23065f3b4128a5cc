import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, createServer } from 'node:http';
import { type Server, type Socket, createServer as createTcpServer } from 'node:net';

/** An upstream on the loopback that remembers what it was asked. */
export interface Upstream {
  /** `http://127.0.0.1:port`, which is also its entry of `allowedHosts`. */
  readonly url: string;
  /** `host:port` */
  readonly host: string;
  readonly requests: readonly UpstreamRequest[];
  /** How many connections reached it, whether or not they asked for anything. */
  connections(): number;
  close(): Promise<void>;
}

export interface UpstreamRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Answers 200 `{}` unless told otherwise; the request's body is read by then. */
export function startUpstream(
  answer: RequestListener = (_req, res) => res.setHeader('content-type', 'application/json').end('{}'),
  address = '127.0.0.1',
): Promise<Upstream> {
  const requests: UpstreamRequest[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const { method = '', url = '', headers } = req;
      requests.push({ method, url, headers, body: Buffer.concat(chunks) });
      answer(req, res);
    });
    req.on('error', () => undefined);
  });
  return listening(server, address, requests);
}

/** Writes bytes as they are: called with each connection's socket when the head of its next request is there. */
export function startRawUpstream(answer: (socket: Socket, head: string) => void): Promise<Upstream> {
  const requests: UpstreamRequest[] = [];
  const server = createTcpServer((socket) => {
    let text = '';
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (piece: string) => {
      text += piece;
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end);
        text = text.slice(end + 4);
        const [method = '', url = ''] = head.split(' ', 2);
        requests.push({ method, url, headers: {}, body: Buffer.alloc(0) });
        answer(socket, head);
      }
    });
  });
  return listening(server, '127.0.0.1', requests);
}

async function listening(
  server: Server,
  address: string,
  requests: readonly UpstreamRequest[],
): Promise<Upstream> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const host = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  return {
    url: `http://${host}`,
    host,
    requests,
    connections: () => connections,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
