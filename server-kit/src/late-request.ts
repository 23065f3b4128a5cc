import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { refuseBrokenRequest } from './broken-request.ts';
import { freePiece } from './free-piece.ts';

/** How soon a request is looked at again whose handler takes nothing of it just now. */
const LOOK_MS = 1_000;

/**
 * Refuses what Node's parser refuses, and requests that Node calls late once they are. Node looks at its clock before it
 * reads: where this process got no CPU, a request is late that has long reached the machine. It is refused once a turn of
 * the event loop, or its handler, found nothing more of it.
 */
export function refuseBrokenRequests(server: Server): void {
  const requests = new WeakMap<object, IncomingMessage>();
  const note = (req: IncomingMessage): void => void requests.set(req.socket, req);
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.prependListener(event, note);

  const refuseLate = (error: NodeJS.ErrnoException, socket: Socket): void => {
    const last = requests.get(socket);
    // Without its head it is no request yet, and the last one is the one before.
    const misses = last === undefined || last.complete ? 'head' : 'body';
    const isThere = (): boolean => {
      const now = requests.get(socket);
      return now?.complete === true && (misses === 'body' || now !== last);
    };
    const look = (seen: number): void => {
      if (socket.destroyed || isThere()) return;
      const { bytesRead } = socket;
      if (socket.isPaused()) setTimeout(look, LOOK_MS, bytesRead).unref();
      else if (bytesRead === seen) refuseBrokenRequest(error, socket);
      else setImmediate(look, bytesRead);
    };
    setImmediate(look, socket.bytesRead);
  };
  server.on('clientError', (error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket) => {
    if (error.rawPacket !== undefined) freePiece(error.rawPacket);
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refuseLate(error, socket as Socket);
    else refuseBrokenRequest(error, socket);
  });
}
