import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { type TLSSocket, connect as connectTls } from 'node:tls';
import { onTestFinished } from 'vitest';

/** Proxy-Authorization for a URL with user and password. */
export const authorizationIn = (proxyUrl: string): Record<string, string> => {
  const { username, password } = new URL(proxyUrl);
  return { 'proxy-authorization': `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
};

/** Sends a CONNECT. */
export async function connectTo(
  proxyUrl: string,
  authority: string,
  headers: Record<string, string> = authorizationIn(proxyUrl),
): Promise<{ readonly status: number; readonly answer: IncomingMessage; readonly socket: Socket }> {
  const { hostname, port } = new URL(proxyUrl);
  const call = request({ host: hostname, port, method: 'CONNECT', path: authority, headers });
  call.end();
  const [answer, socket] = (await once(call, 'connect')) as [IncomingMessage, Socket];
  onTestFinished(() => void socket.destroy());
  return { status: answer.statusCode ?? 0, answer, socket };
}

/** Opens a TLS connection through the proxy, with the certificate checks of a program. */
export async function tlsThrough(
  proxyUrl: string,
  authority: string,
  options: { readonly ca: string; readonly ALPNProtocols?: string[] },
): Promise<TLSSocket> {
  const { status, socket } = await connectTo(proxyUrl, authority);
  if (status !== 200) throw new Error(`CONNECT was answered ${status}`);
  const [, host = ''] = /^(.*):\d+$/.exec(authority) ?? [];
  const secure = connectTls({ socket, host, servername: /^[\d.]+$/.test(host) ? '' : host, ...options });
  onTestFinished(() => void secure.destroy());
  await once(secure, 'secureConnect');
  return secure;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array;
}

/** Sends a request on a connection; the answer's body is not read yet. */
export async function ask(socket: Socket, path: string, { method = 'GET', headers = {}, body }: Asked = {}) {
  const call = request({ createConnection: () => socket, path, method, headers });
  call.end(body);
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  return { call, answer, status: answer.statusCode, headers: answer.headers };
}
