import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { freeChunk, linger } from './linger.ts';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.ts';

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
  error: 'the request is not valid HTTP/1.1',
};

const refused = new WeakSet<Duplex>();

/** Responds in JSON to a request that Node's parser rejects, and drops its rest before the connection closes. */
export function rejectBrokenRequest(error: Pick<NodeJS.ErrnoException, 'code'>, socket: Duplex): void {
  if (refused.has(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable || currentResponse(socket)?.headersSent === true)
    return void socket.destroy();
  refused.add(socket);
  const { status, code, error: message } = BROKEN[error.code ?? ''] ?? MALFORMED;
  const requestId = requestIdOf({});
  const body = JSON.stringify({ error: message, code, requestId });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n` +
      `${REQUEST_ID_HEADER}: ${requestId}\r\n\r\n${body}`,
  );
  const parsers = socket.listeners('data');
  linger(socket, socket, () => socket.destroy());
  // Without its parser no later rest is served as a request.
  for (const parser of parsers) socket.off('data', parser as () => void);
}

/** The response in progress on a connection, which Node keeps on the socket; those of pipelined requests wait. */
export function currentResponse(socket: Duplex): ServerResponse | undefined {
  const { _httpMessage: answer } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  return answer ?? undefined;
}

/** How soon a request is checked again whose handler has paused it. */
const RECHECK_MS = 1_000;

/**
 * Responds to requests that Node's parser rejects or calls late. Node compares the time before it reads: after a pause of
 * this process a request counts as late that has reached the machine. So it is rejected only once a turn of the event loop
 * has read nothing more of it.
 */
export function rejectBrokenRequests(server: Server): void {
  const requests = new WeakMap<object, IncomingMessage>();
  const remember = (req: IncomingMessage): void => void requests.set(req.socket, req);
  for (const event of ['request', 'checkContinue', 'checkExpectation'])
    server.prependListener(event, remember);

  const rejectLate = (error: NodeJS.ErrnoException, socket: Socket): void => {
    const last = requests.get(socket);
    // A request without its whole head is unknown yet, and `last` is the one before.
    const missing = last === undefined || last.complete ? 'head' : 'body';
    const hasArrived = (): boolean => {
      const now = requests.get(socket);
      return now?.complete === true && (missing === 'body' || now !== last);
    };
    const check = (seen: number): void => {
      if (socket.destroyed || hasArrived()) return;
      const { bytesRead } = socket;
      if (socket.isPaused()) setTimeout(check, RECHECK_MS, bytesRead).unref();
      else if (bytesRead === seen) rejectBrokenRequest(error, socket);
      else setImmediate(check, bytesRead);
    };
    setImmediate(check, socket.bytesRead);
  };
  server.on('clientError', (error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket) => {
    if (error.rawPacket !== undefined) freeChunk(error.rawPacket);
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') rejectLate(error, socket as Socket);
    else rejectBrokenRequest(error, socket);
  });
}
