import { once } from 'node:events';
import { type Socket, createServer } from 'node:net';

/** One request as it came in, by hand. */
export interface RawRequest {
  readonly socket: Socket;
  /** The request line, `GET /x HTTP/1.1`. */
  readonly line: string;
  /** Of its connection, from 1. */
  readonly connection: number;
}

/** An upstream that writes what it likes: no HTTP library keeps it from a second answer. */
export interface RawUpstream {
  readonly port: number;
  connections(): number;
  /** Of those that are open. */
  open(): number;
  close(): Promise<void>;
}

/** @param answer is called once the head of a request is there, and not again for what looks like one in its body */
export async function rawUpstream(answer: (request: RawRequest) => void): Promise<RawUpstream> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const connection = connections;
    let text = '';
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (piece: string) => {
      text += piece;
      for (let end = endOf(text); end !== undefined; end = endOf(text)) {
        const [line = ''] = text.split('\r\n', 1);
        text = text.slice(end);
        answer({ socket, line, connection });
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    port,
    connections: () => connections,
    open: () => sockets.size,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Where the first request of a text ends, its body included as far as it is small; undefined while it is not there. */
function endOf(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return undefined;
  const length = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
  return Math.min(head + 4 + length, text.length);
}

/** An answer with this text as its body. */
export const rawAnswer = (text: string, fields = ''): string =>
  `HTTP/1.1 200 OK\r\n${fields}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
