import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it reached the upstream. */
export interface SeenRequest {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
}

/** An MCP server that wants a credential with every request. */
export interface McpUpstream {
  readonly url: string;
  /** Its entry of `allowedHosts`. */
  readonly origin: string;
  readonly seen: readonly SeenRequest[];
  close(): Promise<void>;
}

/** @param serve gets what brings the credential, as a bearer token; all else is refused */
export async function startBehindGate(
  credential: string,
  serve: (req: IncomingMessage, res: ServerResponse) => unknown,
  stop: () => Promise<void> = () => Promise.resolve(),
): Promise<McpUpstream> {
  const seen: SeenRequest[] = [];
  const server = createServer((req, res) => {
    const { method = 'GET', headers } = req;
    seen.push({ method, headers });
    if (headers.authorization === `Bearer ${credential}`) serve(req, res);
    else res.writeHead(401, { 'content-type': 'text/plain' }).end('no credential, no service');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/mcp`,
    origin,
    seen,
    close: async () => {
      await stop();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
