import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { MAX_WAITING, trackConnections } from './connections.ts';
import { refuseBrokenRequests } from './late-request.ts';
import { noteExpectation } from './expected-body.ts';
import { occursTwice } from './repeated-header.ts';
import { JSON_CONTENT, respond } from './respond.ts';
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
  /**
   * Stops accepting and lets requests in hand finish for the grace time, 5 s unless given. A stream of events that stands for
   * nothing in particular ends at once, another one at the end of that time; then what is left is torn down.
   */
  close(graceMs?: number): Promise<void>;
}

export interface ListenOptions extends ListenAddress {
  readonly headersTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  /**
   * Aborted once the program is to stop: from then on each answer says `Connection: close`, while requests are still taken,
   * on new connections too.
   */
  readonly leaving?: AbortSignal;
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
    (req, res) => handle(req, res),
  );
  const handle: RequestListener = (req, res) => {
    if (!connections.takes(req, res)) return;
    if (namesOneHost(req)) handler(req, res);
    else refuse(res, 400, 'the request must have one Host');
  };
  // Node would ask for the body before anybody has looked at the head.
  server.on('checkContinue', (req, res) => {
    noteExpectation(req, res);
    handle(req, res);
  });
  // Node's own refusal has no body, and knows nothing of a program that is to stop.
  server.on('checkExpectation', (req, res) => {
    if (connections.takes(req, res)) refuse(res, 417, 'only 100-continue may be expected');
  });
  server.maxHeadersCount = 0;
  refuseBrokenRequests(server);
  const connections = trackConnections(server);
  options.leaving?.addEventListener('abort', connections.leave, { once: true });
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => reject(explainListenError(error, options));
    server.once('error', failed);
    server.listen({ host: options.host, port: options.port, backlog: MAX_WAITING }, () => {
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
    close: connections.close,
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

/** RFC 9112 section 3.2: what a request of HTTP/1.1 must do; of two, Node shows the first alone. */
function namesOneHost({ headers, httpVersion, rawHeaders }: IncomingMessage): boolean {
  return headers.host === undefined ? httpVersion !== '1.1' : !occursTwice(rawHeaders, 'host');
}

function refuse(res: ServerResponse, status: number, error: string): void {
  const body = JSON.stringify({ error, code: 'INVALID_REQUEST' });
  respond(res, { status, headers: [...JSON_CONTENT, 'Cache-Control', 'no-store'], body, closes: true });
}
