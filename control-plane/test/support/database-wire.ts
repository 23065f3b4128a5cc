import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

/** What is done with a connection once a statement comes by on it. */
export type WireFault =
  /** The server never sees it. */
  | 'cut before'
  /** The server does it, and its answer is lost. */
  | 'cut after';

/** A wire between the service and its PostgreSQL, or its Redis, that can be listened to and cut. */
export interface Wire {
  /** The same address, over this wire. */
  over(url: string): string;
  /** Round trips since the last look: a prepared statement by its name, any other one by its text; Redis's by command. */
  taken(): readonly string[];
  /** Asked at each round trip, with what stands for its connection. */
  fault: ((statement: string, connection: object) => WireFault | undefined) | undefined;
  /** Breaks every connection, and those that come until `restore`. */
  cut(): void;
  /** Takes what comes and lets nothing through in either direction, until `restore`. */
  stall(): void;
  restore(): void;
  close(): Promise<void>;
}

type Parse = (chunk: Buffer) => readonly string[];

/** @param speaks what the service says on it */
export async function startWire(target: string, speaks: 'postgres' | 'redis'): Promise<Wire> {
  const pairs = new Set<readonly [Socket, Socket]>();
  const seen: string[] = [];
  let state: 'whole' | 'cut' | 'stalled' = 'whole';
  const wire: Pick<Wire, 'fault'> = { fault: undefined };
  const server = createServer((client) => {
    if (state === 'cut') return void client.resetAndDestroy();
    const { hostname, port } = new URL(target);
    const upstream = connect(Number(port), hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const statementsIn: Parse = speaks === 'postgres' ? postgresStatements() : redisCommands();
    let lost = false;
    client.on('data', (chunk: Buffer) => {
      const statements = statementsIn(chunk);
      seen.push(...statements);
      const fault = statements
        .map((statement) => wire.fault?.(statement, client))
        .find((it) => it !== undefined);
      if (fault === 'cut before') return void client.resetAndDestroy();
      lost ||= fault === 'cut after';
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => void (lost ? client.resetAndDestroy() : client.write(chunk)));
    for (const [one, other] of [pair, pair.toReversed() as [Socket, Socket]]) {
      one.on('error', () => undefined);
      one.on('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
    if (state === 'stalled') for (const socket of pair) socket.pause();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets = (): Socket[] => [...pairs].flat();
  return Object.assign(wire, {
    over: (url: string) => {
      const moved = new URL(url);
      moved.hostname = '127.0.0.1';
      moved.port = String(port);
      return moved.href;
    },
    taken: () => seen.splice(0),
    cut: () => {
      state = 'cut';
      for (const socket of sockets()) socket.resetAndDestroy();
    },
    stall: () => {
      state = 'stalled';
      for (const socket of sockets()) socket.pause();
    },
    restore: () => {
      state = 'whole';
      for (const socket of sockets()) socket.resume();
    },
    close: async () => {
      for (const socket of sockets()) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  });
}

const TERMINATED = /[^\0]*/y;
const textAt = (text: string, at: number): string => {
  TERMINATED.lastIndex = at;
  return TERMINATED.exec(text)?.[0] ?? '';
};

/** PostgreSQL's protocol, version 3: each Query, and each Sync with the statement that was bound before it. */
function postgresStatements(): Parse {
  let rest = Buffer.alloc(0);
  let isStartup = true;
  let bound = '';
  const texts = new Map<string, string>();
  return (chunk) => {
    const found: string[] = [];
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = isStartup ? 0 : 1;
      if (rest.length < head + 4) return found;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return found;
      const [type, body] = [
        isStartup ? '' : String.fromCharCode(rest[0] ?? 0),
        rest.toString('latin1', head + 4, length),
      ];
      isStartup = false;
      rest = rest.subarray(length);
      const first = textAt(body, 0);
      if (type === 'Q') found.push(first);
      if (type === 'P') texts.set(first, textAt(body, first.length + 1));
      if (type === 'B') bound = textAt(body, first.length + 1);
      if (type === 'S') found.push(bound === '' ? (texts.get('') ?? '') : bound);
    }
  };
}

/** RESP: each command's name, in capitals. */
function redisCommands(): Parse {
  let rest = '';
  return (chunk) => {
    const found: string[] = [];
    rest += chunk.toString('latin1');
    for (;;) {
      const header = /^\*(\d+)\r\n/.exec(rest);
      if (header === null) return found;
      let at = header[0].length;
      let name: string | undefined;
      for (let left = Number(header[1]); left > 0; left--) {
        const size = /^\$(\d+)\r\n/.exec(rest.slice(at, at + 20));
        if (size === null) return found;
        const start = at + size[0].length;
        at = start + Number(size[1]) + 2;
        if (rest.length < at) return found;
        name ??= rest.slice(start, at - 2).toUpperCase();
      }
      found.push(name ?? '');
      rest = rest.slice(at);
    }
  };
}
