import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { occursTwice } from './repeated-header.ts';
import type { ListenAddress } from './settings.ts';

/** A request's header block must arrive within this; slower clients get 408. */
const HEADERS_TIMEOUT_MS = 10_000;
/** The whole request, body included, must arrive within this; slower clients get 408. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Room for the longest ticket (4096 characters) and an agent's own headers; more is 431. */
const MAX_HEADER_BYTES = 16_384;
/** Longer than a reverse proxy's usual idle time, so that the proxy closes first and no request is lost between. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** How often Node looks for slow requests: bounds how much later than its time a 408 comes. */
const SLOW_CHECK_INTERVAL_MS = 1_000;

export interface Listener {
  /** `http://host:port`, with the port that was really taken. */
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** Stops accepting, lets requests in hand finish for the grace time, then ends what is left. */
  close(graceMs?: number): Promise<void>;
}

export interface ListenOptions extends ListenAddress {
  readonly headersTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
}

/**
 * Starts an HTTP/1.1 server with the bounds that hold for both programs.
 *
 * Node drops header lines beyond a count without a word; here only their total size is bounded, since a dropped
 * signature header must be a refusal and not a surprise.
 */
export async function listen(handler: RequestListener, options: ListenOptions): Promise<Listener> {
  const server = createServer(
    {
      headersTimeout: options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
      requestTimeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: SLOW_CHECK_INTERVAL_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      noDelay: true,
      // Checked below: Node's own refusal has no body.
      requireHostHeader: false,
    },
    (req, res) => {
      if (namesOneHost(req)) handler(req, res);
      else refuseHost(res);
    },
  );
  server.maxHeadersCount = 0;
  server.on('clientError', refuseBrokenRequest);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => reject(explainListenError(error, options));
    server.once('error', failed);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', failed);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    port,
    server,
    close: (graceMs) => closeServer(server, sockets, graceMs),
  };
}

/** @returns what an operator is told; both programs name their addresses in settings that end in `_LISTEN` */
function explainListenError(error: NodeJS.ErrnoException, { host, port }: ListenAddress): Error {
  const where = `${host}:${port}`;
  const what =
    error.code === 'EADDRINUSE'
      ? `${where} is taken by another program: stop that, or choose another address in the setting that ends in _LISTEN`
      : `cannot listen on ${where}: ${error.message}`;
  return new Error(what, { cause: error });
}

const BROKEN: Readonly<Record<string, { status: string; code: string; error: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    code: 'TOO_LARGE',
    error: 'the request header is too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    code: 'INVALID_REQUEST',
    error: 'the request did not arrive in time',
  },
};
const MALFORMED = {
  status: '400 Bad Request',
  code: 'INVALID_REQUEST',
  error: 'the request is no valid HTTP/1.1',
};

/** RFC 9112 section 3.2: what a request of HTTP/1.1 must do; of two, Node shows the first alone. */
function namesOneHost({ headers, httpVersion, rawHeaders }: IncomingMessage): boolean {
  return headers.host === undefined ? httpVersion !== '1.1' : !occursTwice(rawHeaders, 'host');
}

function refuseHost(res: ServerResponse): void {
  const body = JSON.stringify({ error: 'the request must have one Host', code: MALFORMED.code });
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' };
  res
    .writeHead(400, { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' })
    .end(body);
}

/** How long a refused client may take to read its answer before the connection is torn down. */
const LINGER_MS = 1_000;
const refused = new WeakSet<Duplex>();

/**
 * What Node's parser refuses never reaches a handler; it gets the same JSON shape as every other refusal. What the
 * client still sends is dropped for a moment: tearing down at once would lose the answer on its way.
 */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (refused.has(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable || answerBegun(socket)) return void socket.destroy();
  refused.add(socket);
  const { status, code, error: message } = BROKEN[error.code ?? ''] ?? MALFORMED;
  const body = JSON.stringify({ error: message, code });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
  const teardown = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(teardown));
}

/** A half-written answer cannot be followed by another one. Node hangs the answer in hand on its socket. */
function answerBegun(socket: Duplex): boolean {
  const { _httpMessage: answer } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  return answer?.headersSent === true;
}

/** How often a server that closes looks for connections on which nothing is in hand any more. */
const CLOSE_IDLE_INTERVAL_MS = 50;

/** Lets what is in hand finish; a connection whose request has finished, or that never sent one, is not waited for. */
function closeServer(server: Server, sockets: ReadonlySet<Socket>, graceMs = 5_000): Promise<void> {
  const closeIdle = (): void => {
    server.closeIdleConnections();
    // Node takes a new connection for a slow request until its first byte, which has had its time to come by now.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
  return new Promise((resolve) => {
    const idle = setInterval(closeIdle, CLOSE_IDLE_INTERVAL_MS);
    const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearInterval(idle);
      clearTimeout(deadline);
      resolve();
    });
    server.closeIdleConnections();
  });
}
