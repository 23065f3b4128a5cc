import { type RequestListener, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { once } from 'node:events';
import type { Server } from 'node:net';

/** A server on the loopback that knows how many connections reached it. */
export interface CountingServer {
  readonly port: number;
  connections(): number;
  close(): Promise<void>;
}

/** An HTTP server on a free port; with `tls` an HTTPS one. */
export async function countingServer(
  handler: RequestListener,
  options: { readonly host?: string; readonly tls?: { readonly key: string; readonly cert: string } } = {},
): Promise<CountingServer> {
  const server: Server & { closeAllConnections(): void } =
    options.tls === undefined ? createServer(handler) : createTlsServer(options.tls, handler);
  let connections = 0;
  server.on('connection', () => connections++);
  server.listen(0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a listening server has a port');
  return {
    port: address.port,
    connections: () => connections,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
