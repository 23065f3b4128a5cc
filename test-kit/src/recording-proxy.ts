import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

export interface RecordingProxy {
  readonly url: string;
  readonly port: number;
  /** Every byte that passed in either direction, connection after connection. */
  recorded(): Buffer;
  close(): Promise<void>;
}

type Target = () => { readonly port: number };

/**
 * Forwards TCP to another address on this machine and keeps a copy of all that passes: what a wiretap would see.
 *
 * @param target asked at each connection, so that the other side may move; where it throws, there is none
 */
export async function startRecordingProxy(target: Target): Promise<RecordingProxy> {
  const chunks: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const port = portOf(target);
    if (port === undefined) return void client.destroy();
    const upstream = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => void chunks.push(chunk));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    recorded: () => Buffer.concat(chunks),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function portOf(target: Target): number | undefined {
  try {
    return target().port;
  } catch {
    return undefined;
  }
}
