import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { createReplyReader } from './reply-reader.ts';
import { type RequestSource, requestBytes } from './requests.ts';

export interface LoadTarget {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** The only status that counts; another one ends the run, unless it is counted in `denied`. */
  readonly expectedStatus: number;
}

/** How a target is asked. */
export interface LoadShape {
  /** With it, requests leave at this even rate whether or not answers come; without, as fast as answers come. */
  readonly requestsPerSecond?: number;
  /** Where the answers redirect to: each is followed on a connection to there, and has its answer with that one's. */
  readonly redirectsTo?: LoadTarget;
}

interface Load extends LoadTarget, LoadShape {
  readonly source: RequestSource;
  readonly connections: number;
  readonly seconds: number;
  /** Counts answers of another status by their code. */
  readonly denied?: Map<string, number>;
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
  readonly sockets: Socket[];
  /** When the request in flight was due, by `performance.now()`; undefined where the connection is free. */
  dueAt: number | undefined;
}

const PACE_MS = 1;

/**
 * Sends requests over plain sockets, one in flight per connection. The requests are ready-made bytes and the answers
 * are not decoded, so that one core of load can keep one core of any of the servers busy.
 *
 * At a fixed rate each request that was due is answered and counted, however late.
 * @throws Error when an answer has another status that nothing counts, or a connection breaks
 */
export async function runLoad(load: Load): Promise<LoadResult> {
  const latencies: number[] = [];
  const finished = Promise.withResolvers<undefined>();
  const paced = load.requestsPerSecond !== undefined;
  const free: Connection[] = [];
  let endsAt = Infinity;
  let answered = 0;
  let inFlight = 0;
  let over = false;

  const send = (connection: Connection, dueAt: number): void => {
    const request = over ? undefined : load.source();
    if (request === undefined) return finish();
    inFlight++;
    connection.dueAt = dueAt;
    connection.sockets[0]?.write(request);
  };
  const finish = (): void => {
    over = true;
    if (inFlight === 0) finished.resolve(undefined);
  };

  const onAnswered = (connection: Connection): void => {
    const now = performance.now();
    inFlight--;
    answered++;
    latencies.push(now - (connection.dueAt ?? now));
    connection.dueAt = undefined;
    if (over || (!paced && now >= endsAt)) finish();
    else if (paced) free.push(connection);
    else send(connection, now);
  };

  const open = async (
    { url, expectedStatus }: LoadTarget,
    onReply: (head: string) => void,
    onDenied: () => void,
  ) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    const read = createReplyReader((status, head, body) => {
      if (status === expectedStatus) return onReply(head);
      if (load.denied !== undefined) {
        const code = `${status} ${/"code":"(\w+)"/.exec(body.toString('latin1'))?.[1] ?? ''}`;
        load.denied.set(code, (load.denied.get(code) ?? 0) + 1);
        return onDenied();
      }
      over = true;
      finished.reject(new Error(`${url} answered ${status} instead of ${expectedStatus}`));
    });
    socket.on('data', read);
    await once(socket, 'connect');
    socket.on('error', (error) => finished.reject(error));
    socket.on('close', () => finished.reject(new Error(`${url} closed a connection`)));
    return socket;
  };
  const openConnection = async (): Promise<Connection> => {
    const connection: Connection = { sockets: [], dueAt: undefined };
    const { redirectsTo } = load;
    const answer = (): void => onAnswered(connection);
    const follow = (head: string): void =>
      void connection.sockets[1]?.write(requestBytes(redirectsTo?.url ?? '', locationOf(head)));
    connection.sockets.push(await open(load, redirectsTo === undefined ? answer : follow, answer));
    if (redirectsTo !== undefined) connection.sockets.push(await open(redirectsTo, answer, answer));
    return connection;
  };

  const connections = await Promise.all(Array.from({ length: load.connections }, openConnection));
  const cpuBefore = process.cpuUsage();
  const measuredFrom = performance.now();
  endsAt = measuredFrom + load.seconds * 1000;
  free.push(...connections);
  const pacer = paced ? startPacer(load, free, send, finish) : undefined;
  if (!paced) for (const connection of connections) send(connection, performance.now());
  try {
    await finished.promise;
  } finally {
    clearInterval(pacer);
    for (const { sockets } of connections)
      for (const socket of sockets) socket.removeAllListeners('close').destroy();
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
  { requestsPerSecond = 1, seconds }: Load,
  free: Connection[],
  send: (connection: Connection, dueAt: number) => void,
  finish: () => void,
): NodeJS.Timeout {
  const startedAt = performance.now();
  const intervalMs = 1000 / requestsPerSecond;
  const count = Math.ceil(requestsPerSecond * seconds);
  let sent = 0;
  const pacer = setInterval(() => {
    const now = performance.now();
    while (sent < count && startedAt + sent * intervalMs <= now) {
      const connection = free.shift();
      if (connection === undefined) return;
      send(connection, startedAt + sent * intervalMs);
      sent++;
    }
    if (sent < count) return;
    clearInterval(pacer);
    finish();
  }, PACE_MS);
  return pacer;
}

/** Path and query of where an answer redirects to. */
function locationOf(head: string): string {
  const { pathname, search } = new URL(/\r\nlocation: *(\S+)/i.exec(head)?.[1] ?? '');
  return pathname + search;
}

/** @param sorted ascending; NaN where it is empty */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
