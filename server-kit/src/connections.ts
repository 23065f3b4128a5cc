import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { answerInHand, refuseBrokenRequest } from './broken-request.ts';
import { type EventStream, eventStreamOf } from './event-stream.ts';

/** The open connections of a server, and how they come to an end without anybody losing an answer. */
export interface Connections {
  /** To be asked about each request. @returns whether it is answered */
  takes(req: IncomingMessage, res: ServerResponse): boolean;
  /** From now on each answer says that its connection ends with it, those in hand and those to come. */
  leave(): void;
  /** Stops accepting and resolves once all connections are gone, after the grace time at the latest. */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 5_000;
/** Of the grace time; what is left of it is for the last bytes. */
const SHARE_OF_REQUESTS = 0.9;
/** How often a server that closes looks for connections on which nothing is in hand any more. */
const CLOSE_IDLE_INTERVAL_MS = 50;

/**
 * The queue of those that have connected and are not accepted yet, which grows while the process has no CPU: the system resets
 * who finds it full. As many as Linux allows (`net.core.somaxconn`); Node by itself asks for 511.
 */
export const MAX_WAITING = 4_096;

/** @param server before it listens */
export function trackConnections(server: Server): Connections {
  const sockets = new Set<Socket>();
  /** The last answer where requests came behind each other without waiting (pipelining). */
  const queued = new WeakMap<Socket, ServerResponse>();
  let leaving = false;
  /** Taken from the system while the server closes, and not yet read. */
  const fetched: Socket[] = [];
  let fetching = false;
  server.on('connection', (socket: Socket) => {
    if (fetching) {
      // Behind the start of its reading, which Node has put off to the end of this tick.
      process.nextTick(() => socket.pause());
      fetched.push(socket);
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  const lastAnswer = (socket: Socket): ServerResponse | undefined => {
    const last = queued.get(socket);
    return last === undefined || last.writableFinished ? answerInHand(socket) : last;
  };
  const leave = (): void => {
    leaving = true;
    for (const socket of sockets) {
      const last = lastAnswer(socket);
      if (last?.headersSent === false) last.shouldKeepAlive = false;
    }
  };
  const endStreams = (kinds: readonly EventStream[]): void => {
    for (const socket of sockets) {
      const answer = answerInHand(socket);
      const kind = answer && eventStreamOf(answer);
      if (kind !== undefined && kinds.includes(kind)) answer?.end();
    }
  };
  /** Nothing was done for these, and they are told so. */
  const refuseHalfRequests = (): void => {
    for (const socket of sockets) {
      const answer = answerInHand(socket);
      const isHalf =
        answer === undefined ? socket.bytesRead > 0 : !answer.headersSent && !answer.req.complete;
      if (isHalf) refuseBrokenRequest({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket);
    }
  };
  let silent: readonly Socket[] = [];
  const closeIdle = (): void => {
    server.closeIdleConnections();
    // Node takes a new connection for a slow request until its first byte, which has had its time to come by now.
    for (const socket of silent) if (socket.bytesRead === 0) socket.destroy();
    silent = [...sockets].filter(({ bytesRead }) => bytesRead === 0);
  };

  /**
   * Those who wait in the system's queue are reset when it closes, and a turn of the event loop takes one of them. They are
   * answered later: who is answered connects anew, and the queue would never be empty.
   */
  const fetchWaiting = async (): Promise<void> => {
    fetching = true;
    for (let count = -1; count < fetched.length && count <= MAX_WAITING; await nextTurn())
      count = fetched.length;
    fetching = false;
  };

  return {
    takes: ({ socket }, res) => {
      const before = answerInHand(socket) === res ? undefined : lastAnswer(socket);
      if (before !== undefined) queued.set(socket, res);
      if (!leaving) return true;
      // RFC 9112 section 9.6: nothing is done for what comes behind an answer that closes.
      if (!socket.writable || (before?.headersSent === true && !before.shouldKeepAlive)) return false;
      if (before !== undefined) before.shouldKeepAlive = true;
      res.shouldKeepAlive = false;
      return true;
    },
    leave,
    close: async (graceMs = GRACE_MS) => {
      leave();
      // What had reached the machine by now is read first: a connection that is closed over a request resets it. What stays is
      // the way through the network: who connects, or asks on an idle connection, in the instant of the closing gets no
      // answer, and nothing was done for it; HTTP/1.1 leaves that to the client's repeating (RFC 9112 section 9.3.1). Whoever
      // found the program not ready by then comes no more, and has no connection left that it did not hear the end of.
      await nextTurn();
      await fetchWaiting();
      endStreams(['standing']);
      await new Promise<void>((resolve) => {
        // Behind the reading of a turn of the event loop, for the same reason.
        const idle = setInterval(() => setImmediate(closeIdle), CLOSE_IDLE_INTERVAL_MS);
        const bound = setTimeout(() => {
          endStreams(['standing', 'answering']);
          refuseHalfRequests();
        }, graceMs * SHARE_OF_REQUESTS);
        const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
        server.close(() => {
          clearInterval(idle);
          clearTimeout(bound);
          clearTimeout(deadline);
          resolve();
        });
        for (const socket of fetched.splice(0)) socket.resume();
        closeIdle();
      });
    },
  };
}
