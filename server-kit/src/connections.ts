import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentResponse, rejectBrokenRequest } from './broken-request.ts';
import { type EventStream, eventStreamOf } from './streamed-response.ts';

const GRACE_MS = 5_000;
/** Share of the grace time; the rest is for the last bytes. */
const SHARE_OF_REQUESTS = 0.9;
/** How often a closing server looks for idle connections. */
const CLOSE_IDLE_INTERVAL_MS = 50;

/** The accept queue, as long as Linux allows (`net.core.somaxconn`): connections that find it full are reset. */
export const LISTEN_BACKLOG = 4_096;

/**
 * The open connections of a server, which end without a client losing its response.
 * @param server before it listens
 */
export function trackConnections(server: Server) {
  const sockets = new Set<Socket>();
  /** The last response where requests are pipelined. */
  const queued = new WeakMap<Socket, ServerResponse>();
  let leaving = false;
  /** Accepted while the server closes, and not yet read. */
  const accepted: Socket[] = [];
  let accepting = false;
  server.on('connection', (socket: Socket) => {
    if (accepting) {
      // After Node's start of reading, which comes at the end of this tick.
      process.nextTick(() => socket.pause());
      accepted.push(socket);
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  const lastResponse = (socket: Socket): ServerResponse | undefined => {
    const last = queued.get(socket);
    return last === undefined || last.writableFinished ? currentResponse(socket) : last;
  };
  const leave = (): void => {
    leaving = true;
    for (const socket of sockets) {
      const last = lastResponse(socket);
      if (last?.headersSent === false) last.shouldKeepAlive = false;
    }
  };
  const endStreams = (kinds: readonly EventStream[]): void => {
    for (const socket of sockets) {
      const answer = currentResponse(socket);
      const kind = answer && eventStreamOf(answer);
      if (kind !== undefined && kinds.includes(kind)) answer?.end();
    }
  };
  /** Unfinished requests get a 408: nothing was done for them. */
  const rejectUnfinishedRequests = (): void => {
    for (const socket of sockets) {
      const answer = currentResponse(socket);
      const isUnfinished =
        answer === undefined ? socket.bytesRead > 0 : !answer.headersSent && !answer.req.complete;
      if (isUnfinished) rejectBrokenRequest({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket);
    }
  };
  let silent: readonly Socket[] = [];
  const closeIdle = (): void => {
    server.closeIdleConnections();
    // Node counts a new connection as a slow request until its first byte, which has had time to arrive.
    for (const socket of silent) if (socket.bytesRead === 0) socket.destroy();
    silent = [...sockets].filter(({ bytesRead }) => bytesRead === 0);
  };

  /** Closing resets what is in the accept queue, so that is accepted first, one a turn, and read only later. */
  const acceptQueued = async (): Promise<void> => {
    accepting = true;
    for (let count = -1; count < accepted.length && count <= LISTEN_BACKLOG; await nextTurn())
      count = accepted.length;
    accepting = false;
  };

  return {
    /** Call for each request. @returns whether to handle it */
    accepts: ({ socket }: IncomingMessage, res: ServerResponse): boolean => {
      const before = currentResponse(socket) === res ? undefined : lastResponse(socket);
      if (before !== undefined) queued.set(socket, res);
      if (!leaving) return true;
      // RFC 9112 section 9.6: requests after a closing response are not processed.
      if (!socket.writable || (before?.headersSent === true && !before.shouldKeepAlive)) return false;
      if (before !== undefined) before.shouldKeepAlive = true;
      res.shouldKeepAlive = false;
      return true;
    },
    /** Sends `Connection: close` with each response from now on, those in progress included. */
    leave,
    /** Stops accepting and resolves once all connections are closed, after the grace time at the latest. */
    close: async (graceMs = GRACE_MS): Promise<void> => {
      leave();
      // Requests that have reached the machine are read first, since closing over one resets its connection. One that is
      // still in the network gets no response, and the client retries it (RFC 9112 section 9.3.1).
      await nextTurn();
      await acceptQueued();
      endStreams(['standing']);
      await new Promise<void>((resolve) => {
        // After the reads of a turn of the event loop, for the same reason.
        const idle = setInterval(() => setImmediate(closeIdle), CLOSE_IDLE_INTERVAL_MS);
        const bound = setTimeout(() => {
          endStreams(['standing', 'answering']);
          rejectUnfinishedRequests();
        }, graceMs * SHARE_OF_REQUESTS);
        const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
        server.close(() => {
          clearInterval(idle);
          clearTimeout(bound);
          clearTimeout(deadline);
          resolve();
        });
        for (const socket of accepted.splice(0)) socket.resume();
        closeIdle();
      });
    },
  };
}
