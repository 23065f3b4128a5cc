import { type IncomingMessage, type ServerResponse, request } from 'node:http';
import { type Socket, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Authority, authorityText } from './covered-hosts.ts';
import { withoutHopByHop } from './field-lines.ts';
import { type Refusal, REASONS, refuseConnect, sendRefusal } from './refusal.ts';
import { sendOn, sentOn } from './send-on.ts';
import type { Tally } from './tally.ts';

const CONNECT_TIMEOUT_MS = 30_000;

/** Connects hosts that no proxy covers. */
export interface StraightConnections {
  /** Opens a tunnel, which passes bytes unchanged. @param head bytes that arrived with the CONNECT */
  tunnel(authority: Authority, client: Duplex, head: Buffer): void;
  /** Forwards a request without TLS. @param path with the query, as sent */
  send(authority: Authority, path: string, req: IncomingMessage, res: ServerResponse): void;
}

/** @param options.only deny all of them. @param options.ownPort of the local proxy, to which it opens no connection */
export function createStraightConnections(options: {
  readonly only: boolean;
  readonly ownPort: () => number;
  readonly tally: Tally;
}): StraightConnections {
  const { only, ownPort, tally } = options;

  /** Waits for the connection. @returns undefined, or why it is refused */
  async function connected(socket: Socket, authority: Authority): Promise<Refusal | undefined> {
    try {
      await new Promise<void>((resolve, reject) => {
        // The listener stays: a later error without one would end the process.
        socket.on('error', reject).once('connect', resolve);
        socket.setTimeout(CONNECT_TIMEOUT_MS, () => reject(new Error('timeout')));
      });
    } catch {
      return unreachable(authority);
    }
    socket.setTimeout(0);
    const isOwn =
      socket.remotePort === ownPort() && /(?:^|:)127\.\d+\.\d+\.\d+$/.test(socket.remoteAddress ?? '');
    return isOwn ? LOOP : undefined;
  }

  return {
    tunnel: (authority, client, head) => {
      const { hostname: host, port } = authority;
      const refuse = (refusal: Refusal): void => {
        tally.refused(host, REASONS[refusal.code]);
        refuseConnect(client, refusal);
      };
      if (only) return refuse(notCovered(authority));
      const server = connect({ host, port, allowHalfOpen: true, noDelay: true });
      const abandon = (): void => void server.destroy();
      client.once('close', abandon);
      void connected(server, authority).then((refusal) => {
        if (refusal !== undefined) {
          client.off('close', abandon);
          abandon();
          return refuse(refusal);
        }
        tally.straight(host);
        server.once('error', () => client.destroy());
        client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
        if (head.length > 0) server.write(head);
        client.pipe(server).pipe(client);
      });
    },
    send: (authority, path, req, res) => {
      const { hostname: host, port } = authority;
      const refuse = (refusal: Refusal): void => {
        tally.refused(host, REASONS[refusal.code]);
        sendRefusal(res, refusal);
      };
      if (only) return refuse(notCovered(authority));
      const socket = connect({ host, port, noDelay: true });
      // The client may leave before the request is sent, too.
      res.once('close', () => socket.destroy());
      void connected(socket, authority).then((refusal) => {
        if (refusal !== undefined) {
          socket.destroy();
          return refuse(refusal);
        }
        tally.straight(host);
        sendOn(req, res, {
          open: request,
          options: { createConnection: () => socket, path },
          headers: [...sentOn(req), 'Connection', 'close'],
          answered: (answer) => withoutHopByHop(answer.rawHeaders),
          failed: () => refuse(unreachable(authority)),
        });
      });
    },
  };
}

const notCovered = (authority: Authority): Refusal => ({
  status: 403,
  code: 'HOST_NOT_COVERED',
  error: `No proxy of this run covers ${authorityText(authority)}, and svault run --only connects no other host.`,
});

const unreachable = (authority: Authority): Refusal => ({
  status: 502,
  code: 'HOST_UNREACHABLE',
  error: `${authorityText(authority)} cannot be reached.`,
});

const LOOP: Refusal = {
  status: 403,
  code: 'LOOP',
  error: 'This is the address of the proxy itself, which connects no one to itself.',
};
