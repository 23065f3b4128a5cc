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
  /** A tunnel, whose bytes stay as they are. @param head of them, what came with the CONNECT */
  tunnel(authority: Authority, client: Duplex, head: Buffer): void;
  /** A request without TLS. @param path with the query, as it was sent */
  send(authority: Authority, path: string, req: IncomingMessage, res: ServerResponse): void;
}

/** @param options.only deny all of them. @param options.ownPort of the local proxy, which connects no one to itself */
export function createStraightConnections(options: {
  readonly only: boolean;
  readonly ownPort: () => number;
  readonly tally: Tally;
}): StraightConnections {
  const { only, ownPort, tally } = options;

  /** @returns why not, or undefined once it is connected */
  async function connected(socket: Socket, authority: Authority): Promise<Refusal | undefined> {
    try {
      await new Promise<void>((resolve, reject) => {
        // It stays: a later error must not go unheard.
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
      if (only) {
        tally.refused(authority.hostname, REASONS.HOST_NOT_COVERED);
        return refuseConnect(client, notCovered(authority));
      }
      const { hostname: host, port } = authority;
      const server = connect({ host, port, allowHalfOpen: true, noDelay: true });
      const abandon = (): void => void server.destroy();
      client.once('close', abandon);
      void connected(server, authority).then((refusal) => {
        if (refusal !== undefined) {
          client.off('close', abandon);
          abandon();
          tally.refused(host, REASONS[refusal.code]);
          return refuseConnect(client, refusal);
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
      // Also before there is a call that would hear of it.
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
