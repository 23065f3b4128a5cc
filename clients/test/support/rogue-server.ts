import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers one request; `url` is the server's own. */
export type Answering = (res: ServerResponse, req: IncomingMessage) => unknown;

/** A server on this machine that answers as a test says, and remembers what it was asked. */
export interface RogueServer {
  readonly url: string;
  /** Path and query of each request, in order, with its `Authorization`. */
  readonly requests: readonly { readonly target: string; readonly authorization: string | undefined }[];
  close(): Promise<void>;
}

/** @param answering given the number of the request, from 0 on */
export async function startRogueServer(
  answering: (at: number, req: IncomingMessage) => Answering,
): Promise<RogueServer> {
  const requests: { target: string; authorization: string | undefined }[] = [];
  const server = createServer((req, res) => {
    requests.push({ target: req.url ?? '', authorization: req.headers.authorization });
    void answering(requests.length - 1, req)(res, req);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** An answer with a JSON body. */
export const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answering =>
  (res) =>
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
