import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An MCP server under an attacker's control. Each path misbehaves in one way. */
const PATHS: Readonly<Record<string, (req: IncomingMessage, res: ServerResponse) => void>> = {
  '/reflect': ({ headers }, res) => res.writeHead(200, { 'x-reflected': headers['x-guess'] ?? '' }).end('{}'),
  '/redirect': (_, res) => res.writeHead(307, { location: 'https://elsewhere.example/mcp' }).end(),
  '/unauthorized': (_, res) =>
    res.writeHead(401, { 'www-authenticate': 'Bearer resource_metadata="https://elsewhere.example/"' }).end(),
  // The HTTP+SSE transport of MCP 2024-11-05, which this stream never leaves.
  '/sse': (_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('event: endpoint\ndata: /messages?session=1\n\n');
  },
};

export interface HostileUpstream {
  readonly host: string;
  stop(): Promise<void>;
}

/** @param port 0: a free one */
export async function startHostileUpstream(listen: string, port: number): Promise<HostileUpstream> {
  const server = createServer((req, res) => {
    req.resume();
    const misbehave = PATHS[req.url ?? ''];
    if (misbehave === undefined) res.writeHead(404).end();
    else misbehave(req, res);
  }).listen(port, listen);
  await once(server, 'listening');
  return {
    host: `${listen}:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

// As a program it runs in a container, at the port that the tests name.
if (import.meta.main) await startHostileUpstream('0.0.0.0', 8080);
