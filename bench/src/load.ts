import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { createReplyReader } from './reply-reader.ts';

/** Gives the next request as bytes, or undefined when there is none left. */
export type RequestSource = () => Buffer | undefined;

export interface LoadTarget {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** The only status that counts; another one ends the run. */
  readonly expectedStatus: number;
}

interface Load extends LoadTarget {
  readonly source: RequestSource;
  readonly connections: number;
  readonly seconds: number;
  /** With it, requests leave at this even rate whether or not answers come; without, as fast as answers come. */
  readonly requestsPerSecond?: number;
}

export interface LoadResult {
  readonly answered: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of this process over wall time: near 1 it measures the load and not the server. */
  readonly loaderBusy: number;
}

interface Connection {
  readonly socket: Socket;
  /** When the request in flight was due, by `performance.now()`; undefined where the connection is free. */
  dueAt: number | undefined;
}

const PACE_MS = 1;

/**
 * Sends requests over plain sockets, one in flight per connection. The requests are ready-made bytes and the answers
 * are not decoded, so that one core of load can keep one core of any of the servers busy.
 * @throws Error when an answer has another status, or a connection breaks
 */
export async function runLoad(load: Load): Promise<LoadResult> {
  const { hostname, port } = new URL(load.url);
  const latencies: number[] = [];
  const finished = Promise.withResolvers<undefined>();
  const startedAt = performance.now();
  const endsAt = startedAt + load.seconds * 1000;
  const paced = load.requestsPerSecond !== undefined;
  const free: Connection[] = [];
  let answered = 0;
  let inFlight = 0;
  let over = false;

  const send = (connection: Connection, dueAt: number): void => {
    const request = over ? undefined : load.source();
    if (request === undefined) {
      over = true;
      if (inFlight === 0) finished.resolve(undefined);
      return;
    }
    inFlight++;
    connection.dueAt = dueAt;
    connection.socket.write(request);
  };

  const onReply = (connection: Connection, status: number): void => {
    const now = performance.now();
    inFlight--;
    answered++;
    latencies.push(now - (connection.dueAt ?? now));
    connection.dueAt = undefined;
    if (status !== load.expectedStatus) {
      over = true;
      finished.reject(new Error(`${load.url} answered ${status} instead of ${load.expectedStatus}`));
    }
    if (now >= endsAt) over = true;
    if (over && inFlight === 0) finished.resolve(undefined);
    else if (paced) free.push(connection);
    else send(connection, now);
  };

  const connections = await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      const connection: Connection = { socket, dueAt: undefined };
      socket.on(
        'data',
        createReplyReader((status) => onReply(connection, status)),
      );
      await once(socket, 'connect');
      socket.on('error', (error) => finished.reject(error));
      socket.on('close', () => finished.reject(new Error(`${load.url} closed a connection`)));
      return connection;
    }),
  );

  const cpuBefore = process.cpuUsage();
  const measuredFrom = performance.now();
  const pacer = paced ? startPacer(load, connections, free, send, () => over) : undefined;
  if (!paced) for (const connection of connections) send(connection, performance.now());
  try {
    await finished.promise;
  } finally {
    clearInterval(pacer);
    for (const { socket } of connections) socket.removeAllListeners('close').destroy();
  }
  const elapsedMs = performance.now() - measuredFrom;
  const cpu = process.cpuUsage(cpuBefore);
  latencies.sort((one, other) => one - other);
  return {
    answered,
    requestsPerSecond: (answered * 1000) / elapsedMs,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    loaderBusy: (cpu.user + cpu.system) / 1000 / elapsedMs,
  };
}

/**
 * Sends what is due by now, every millisecond. A request that waits for a free connection counts its wait: its
 * latency runs from when it was due, so that a server that stalls cannot hide the requests it kept from being sent.
 */
function startPacer(
  load: Load,
  connections: readonly Connection[],
  free: Connection[],
  send: (connection: Connection, dueAt: number) => void,
  isOver: () => boolean,
): NodeJS.Timeout {
  const startedAt = performance.now();
  const intervalMs = 1000 / (load.requestsPerSecond ?? 1);
  let sent = 0;
  free.push(...connections);
  return setInterval(() => {
    const now = performance.now();
    while (!isOver() && startedAt + sent * intervalMs <= now) {
      const connection = free.shift();
      if (connection === undefined) return;
      send(connection, startedAt + sent * intervalMs);
      sent++;
    }
  }, PACE_MS);
}

/** @param sorted ascending; NaN where it is empty */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
