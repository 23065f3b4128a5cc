import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, type Server, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { CertificateAuthority } from './certificate-authority.ts';
import { type CoveredHost, authorityFrom, authorityText } from './covered-hosts.ts';
import { createCoveredRequests } from './covered-request.ts';
import { REASONS, type Refusal, UNAUTHENTICATED, endWith, refuseConnect, sendRefusal } from './refusal.ts';
import { createStraightConnections } from './straight.ts';
import type { Tally } from './tally.ts';

/** A forward proxy on the loopback interface (RFC 9110 section 3.7) that requires a password. */
export interface LocalProxy {
  /** With user and password, for HTTPS_PROXY. */
  readonly url: string;
  /** Closes all connections, those with requests in progress too. */
  close(): Promise<void>;
}

/** Connections without the password; above it the oldest is closed, so that no other user can lock the program out. */
const MAX_STRANGERS = 100;
/** More than a program opens; each may take two of the process's file descriptors. */
const MAX_CONNECTIONS = 500;
/** What the webhook accepts (PROTOCOL.md section 5.8), and the fields that are not forwarded. */
const MAX_HEADER_BYTES = 48 * 1024;
/** Most servers keep an idle connection for longer than Node’s default of 5 seconds, and programs rely on it. */
const KEEP_ALIVE_MS = 120_000;
const HEADERS_TIMEOUT_MS = 30_000;
const HANDSHAKE_TIMEOUT_MS = 30_000;
const PASSWORD_BYTES = 32;
const USER = 'svault';

const BOUNDS = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // A body may take any time, as without this proxy.
  requestTimeout: 0,
} as const;

/**
 * @param options.hosts by `authorityText`
 * @param options.baseUrl of the control plane
 * @param options.only deny hosts that no proxy covers
 */
export async function startLocalProxy(options: {
  readonly hosts: ReadonlyMap<string, CoveredHost>;
  readonly authority: CertificateAuthority;
  readonly baseUrl: string;
  readonly only: boolean;
  readonly tally: Tally;
}): Promise<LocalProxy> {
  const { hosts, authority, tally } = options;
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const knowsPassword = createPasswordCheck(password);
  const covered = createCoveredRequests(options);
  const straight = createStraightConnections({ ...options, ownPort: () => port });
  const servers = new Map<CoveredHost, Promise<Server>>();

  const serverOf = (host: CoveredHost): Promise<Server> => {
    const known =
      servers.get(host) ?? createInnerServer(host, authority, (...call) => covered.send(host, ...call));
    servers.set(host, known);
    return known;
  };

  const strangers = new Set<Socket>();
  const isAuthorized = (req: IncomingMessage): boolean => {
    if (!knowsPassword(req)) return false;
    strangers.delete(req.socket);
    return true;
  };

  function onRequest(...[req, res]: Parameters<RequestListener>): void {
    if (!isAuthorized(req)) return sendRefusal(res, UNAUTHENTICATED);
    const [, secure, place = '', path = ''] = /^http(s?):\/\/([^/?#]*)(.*)$/i.exec(req.url ?? '') ?? [];
    const scheme = secure ? 'https' : 'http';
    const target = authorityFrom(place, scheme);
    if (target === undefined)
      return sendRefusal(res, {
        status: 400,
        code: 'INVALID_REQUEST',
        error: 'This is a proxy: it takes CONNECT, and requests for http:// addresses.',
      });
    const host = hosts.get(authorityText(target));
    const origin = path.startsWith('/') ? path : `/${path}`;
    // Some clients send https:// URLs in absolute form too; the request leaves this machine over TLS only.
    if (host?.scheme === scheme) {
      req.url = origin;
      return covered.send(host, req, res);
    }
    // svault would have to verify the host's certificate in place of the program.
    if (scheme === 'https') {
      tally.refused(target.hostname, REASONS.TUNNEL_REQUIRED);
      return sendRefusal(res, NO_TUNNEL);
    }
    straight.send(target, origin, req, res);
  }

  function onConnect(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    if (!isAuthorized(req)) return refuseConnect(socket, UNAUTHENTICATED);
    const target = authorityFrom(req.url ?? '');
    if (target === undefined)
      return refuseConnect(socket, {
        status: 400,
        code: 'INVALID_REQUEST',
        error: 'CONNECT takes a host and a port.',
      });
    const host = hosts.get(authorityText(target));
    if (host === undefined) return straight.tunnel(target, socket, head);
    void serverOf(host).then((server) => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) socket.unshift(head);
      server.emit('connection', socket);
    });
  }

  const server = createServer(BOUNDS, onRequest).on('connect', onConnect).on('clientError', refuseUnreadable);
  server.maxConnections = MAX_CONNECTIONS;
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    strangers.add(socket);
    const [oldest] = strangers;
    if (strangers.size > MAX_STRANGERS) oldest?.destroy();
    socket.once('close', () => [open, strangers].forEach((sockets) => sockets.delete(socket)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://${USER}:${password}@127.0.0.1:${port}`,
    close: async () => {
      server.close();
      for (const socket of open) socket.destroy();
      covered.close();
      await once(server, 'close');
    },
  };
}

const NO_TUNNEL: Refusal = {
  status: 400,
  code: 'TUNNEL_REQUIRED',
  error:
    'This client asks its proxy for an https:// address without CONNECT, which works for covered hosts alone. Newer versions of it may use CONNECT.',
};

/** Compares the Basic credentials (RFC 7617) in constant time. */
function createPasswordCheck(password: string): (req: IncomingMessage) => boolean {
  const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer');
  const expected = digestOf(Buffer.from(`${USER}:${password}`).toString('base64'));
  return ({ headers }) => {
    const [, given = ''] = /^basic +([^ ]+)$/i.exec(headers['proxy-authorization'] ?? '') ?? [];
    return timingSafeEqual(digestOf(given), expected);
  };
}

/** The HTTP/1.1 server at the end of a tunnel to a covered host; terminates TLS for an https one. */
async function createInnerServer(
  { scheme, hostname }: CoveredHost,
  authority: CertificateAuthority,
  listener: RequestListener,
): Promise<Server> {
  const options = { ALPNProtocols: ['http/1.1'], handshakeTimeout: HANDSHAKE_TIMEOUT_MS };
  const server: Server =
    scheme === 'http'
      ? createServer(BOUNDS, listener)
      : createTlsServer({ ...BOUNDS, ...options, ...(await authority.leafFor(hostname)) }, listener);
  return server.on('clientError', refuseUnreadable);
}

/** Answers as Node does, but closes the socket only after the answer is sent: over TLS it would be lost. */
function refuseUnreadable({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const status = code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  endWith(socket, `HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}
