import { once } from 'node:events';
import { type RequestListener, createServer } from 'node:http';
import { type AddressInfo, type Server, type Socket, createServer as createTcpServer } from 'node:net';

/** An upstream that is no MCP server. */
export interface PlainUpstream {
  readonly url: string;
  /** Its entry of `allowedHosts`. */
  readonly origin: string;
  close(): Promise<void>;
}

/** @param answer the handler of each request; may be another one in each test */
export const startPlainUpstream = (
  answer: (...exchange: Parameters<RequestListener>) => unknown,
): Promise<PlainUpstream> => listening(createServer((req, res) => void answer(req, res)));

/** Writes bytes as they are. @param answer is called with each piece that a connection brings */
export const startRawUpstream = (answer: (socket: Socket, piece: string) => void): Promise<PlainUpstream> =>
  listening(
    createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.setEncoding('latin1').on('data', (piece: string) => answer(socket, piece));
    }),
  );

async function listening(server: Server): Promise<PlainUpstream> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/mcp`,
    origin,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
