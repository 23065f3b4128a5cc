import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { LISTEN_BACKLOG, trackConnections } from './connections.ts';
import { rejectBrokenRequests } from './broken-request.ts';
import { recordExpectation } from './raw-body.ts';
import { occursTwice } from './repeated-header.ts';
import { requestIdOf } from './request-id.ts';
import { JSON_CONTENT, respond } from './respond.ts';
import type { ListenAddress } from './settings.ts';

/** A request's header block must arrive within this; slower clients get 408. */
const HEADERS_TIMEOUT_MS = 10_000;
/** The whole request, body included, must arrive within this; slower clients get 408. */
const REQUEST_TIMEOUT_MS = 30_000;
/** The default: room for the longest ticket (4096 characters) and an agent's headers; more is 431. */
const MAX_HEADER_BYTES = 16_384;
/** Longer than a reverse proxy's usual idle time, so that the proxy closes first and no request is lost between. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** How often Node looks for slow requests, and so the delay of a 408. */
const SLOW_CHECK_INTERVAL_MS = 1_000;

export interface Listener {
  /** `http://host:port`, with the actual port. */
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /**
   * Stops accepting and lets requests finish for the grace time, 5 s unless given. A `standing` event stream ends at once,
   * another one at the end of that time; then the remaining connections are destroyed.
   */
  close(graceMs?: number): Promise<void>;
}

export interface ListenOptions extends ListenAddress {
  /** The name of the setting that has the address, for errors. */
  readonly setting?: string;
  readonly headersTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  readonly maxHeaderBytes?: number;
  /** Aborted when the program drains: from then on each response has `Connection: close`; requests are still accepted. */
  readonly leaving?: AbortSignal;
}

/**
 * Starts an HTTP/1.1 server with the limits of both programs.
 *
 * Node silently drops header lines beyond a count. Here only their total size is limited, so that no signature header is
 * dropped.
 */
export async function listen(handler: RequestListener, options: ListenOptions): Promise<Listener> {
  const server = createServer(
    {
      headersTimeout: options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
      requestTimeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: SLOW_CHECK_INTERVAL_MS,
      maxHeaderSize: options.maxHeaderBytes ?? MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      noDelay: true,
      // Checked below, since Node's response has no body.
      requireHostHeader: false,
    },
    (req, res) => handle(req, res),
  );
  const handle: RequestListener = (req, res) => {
    if (!connections.accepts(req, res)) return;
    if (namesOneHost(req)) handler(req, res);
    else refuse(res, 400, 'the request must have one Host');
  };
  // Node would send 100-continue before the head is checked.
  server.on('checkContinue', (req, res) => {
    recordExpectation(req, res);
    handle(req, res);
  });
  // Node's response has no body, and no `Connection: close` while the program drains.
  server.on('checkExpectation', (req, res) => {
    if (connections.accepts(req, res)) refuse(res, 417, 'only 100-continue may be expected');
  });
  server.maxHeadersCount = 0;
  rejectBrokenRequests(server);
  const connections = trackConnections(server);
  options.leaving?.addEventListener('abort', connections.leave, { once: true });
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => reject(explainListenError(error, options));
    server.once('error', failed);
    server.listen({ host: options.host, port: options.port, backlog: LISTEN_BACKLOG }, () => {
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

function explainListenError(error: NodeJS.ErrnoException, { host, port, setting }: ListenOptions): Error {
  const where = `${setting === undefined ? '' : `${setting}: `}${host}:${port}`;
  const what =
    error.code === 'EADDRINUSE'
      ? `${where} is taken by another program: stop it, or choose another address`
      : `${where} cannot be listened on: ${error.message}`;
  return new Error(what, { cause: error });
}

/** RFC 9112 section 3.2. Of two Host headers Node shows only the first. */
function namesOneHost({ headers, httpVersion, rawHeaders }: IncomingMessage): boolean {
  return headers.host === undefined ? httpVersion !== '1.1' : !occursTwice(rawHeaders, 'host');
}

function refuse(res: ServerResponse, status: number, error: string): void {
  const body = JSON.stringify({ error, code: 'INVALID_REQUEST', requestId: requestIdOf(res.req) });
  respond(res, { status, headers: [...JSON_CONTENT, 'Cache-Control', 'no-store'], body, closes: true });
}
