import { type buildConnector, Client, errors } from 'undici';
import type { EndSignal } from '../ending.ts';

/** Open at once, busy or not; further calls wait. */
const MAX_CONNECTIONS = 256;
/** How long an idle connection is good for, whatever its other side says: Node's own servers close after 5 s. */
const KEEP_ALIVE_MS = 4_000;
/**
 * How long a connection rests between two calls. What an upstream writes after the end of its answer shows in this time
 * and closes the connection, so that the next caller does not take it for an answer to its own request. Longer than the
 * 40 ms for which TCP holds back a second small write until the first one is acknowledged (Nagle's algorithm).
 */
const REST_MS = 60;

/** The connections of one partition to one origin: one call at a time on each. */
export interface Connections {
  /** One that is rested, a new one, or, of too many, the next that is free. Rejects with the signal's reason. */
  take(signal: EndSignal): Promise<Client>;
  /** After a complete answer; it rests then, unless this upstream has ever written unsolicited bytes. */
  giveBack(client: Client): void;
  /** After anything else: closes it. */
  drop(client: Client): void;
  /** Closes the connections that no call is on. */
  dropIdle(): void;
  /** Closes idle connections now, and the others after their calls. */
  retire(): void;
}

/** Not undici's pool, where calls wait past their signal and take a connection in the turn in which it had its answer. */
export function createConnections(
  origin: string,
  options: { readonly connect: buildConnector.connector; readonly maxHeaderSize: number },
): Connections {
  const open = new Set<Client>();
  /** In the order in which they were last used; since when nothing is on them, in ms of `performance.now`. */
  const rested: { readonly client: Client; readonly sinceMs: number }[] = [];
  const resting = new Set<Client>();
  const waiting = new Set<(client: Client) => void>();
  let retired = false;
  /** It wrote unsolicited bytes, and may do so again at a moment at which they pass for an answer. */
  let distrusted = false;

  const create = (): Client => {
    const client = new Client(origin, {
      connect: options.connect,
      maxHeaderSize: options.maxHeaderSize,
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
    });
    // It would connect again by itself: a connection is one connection here. But a call that waits on it is not written
    // yet (undici looks for what came first), so nobody can have acted on it: that one is made on a new connection.
    client.on('disconnect', (_origin, _targets, why) => {
      distrusted ||= isUnasked(why);
      if (client.stats.pending === 0) drop(client);
    });
    open.add(client);
    return client;
  };
  const serve = (client: Client): void => {
    const [next] = waiting;
    if (next === undefined) return void rested.push({ client, sinceMs: performance.now() });
    waiting.delete(next);
    next(client);
  };
  const drop = (client: Client): void => {
    const place = rested.findIndex((each) => each.client === client);
    if (place !== -1) rested.splice(place, 1);
    resting.delete(client);
    void client.destroy().catch(() => undefined);
    if (open.delete(client) && waiting.size > 0) serve(create());
  };

  const dropIdle = (): void => {
    for (const client of [...rested.map((each) => each.client), ...resting]) drop(client);
  };

  return {
    take: (signal) => {
      // The one used last: of all, the upstream is the least likely to be closing it just now. The timers that close
      // idle ones come late where this program was held up, and its upstream was not.
      const last = rested.pop();
      if (last !== undefined && performance.now() - last.sinceMs < KEEP_ALIVE_MS)
        return Promise.resolve(last.client);
      for (const { client } of [last ?? [], ...rested].flat()) drop(client);
      if (open.size < MAX_CONNECTIONS) return Promise.resolve(create());
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          waiting.delete(onTurn);
          const why = signal.reason as Error;
          reject(why);
        };
        const onTurn = (free: Client): void => {
          signal.removeEventListener('abort', onAbort);
          resolve(free);
        };
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.add(onTurn);
      });
    },
    giveBack: (client) => {
      if (!open.has(client)) return;
      if (distrusted || (retired && waiting.size === 0)) return drop(client);
      resting.add(client);
      const rest = (): void => {
        if (resting.delete(client)) serve(client);
      };
      // Where this program was held up, its timers are due before it reads what came meanwhile: that is given its turn.
      setTimeout(() => setImmediate(rest), REST_MS).unref();
    },
    drop,
    dropIdle,
    retire: () => {
      retired = true;
      dropIdle();
    },
  };
}

/** The client's words for bytes on a connection that no call is on, or that are no HTTP. */
const isUnasked = (why: Error): boolean =>
  why instanceof errors.HTTPParserError || why.message === 'bad response';
