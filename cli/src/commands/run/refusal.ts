import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The local proxy's answer to a request that it does not forward. */
export interface Refusal {
  readonly status: number;
  readonly code: keyof typeof REASONS;
  readonly error: string;
}

/** The reason that the summary gives, by code. */
export const REASONS = {
  INVALID_REQUEST: 'not a request that a proxy takes',
  PROXY_AUTHENTICATION_REQUIRED: 'without the password of this run',
  TUNNEL_REQUIRED: 'an https:// address without CONNECT',
  HOST_NOT_COVERED: 'no proxy covers it',
  PATH_NOT_COVERED: 'not below the base of a proxy',
  UPGRADE_NOT_SUPPORTED: 'an upgrade, such as to WebSocket',
  LOOP: 'the local proxy itself',
  HOST_UNREACHABLE: 'cannot be reached',
  CONTROL_PLANE_UNREACHABLE: 'the control plane cannot be reached',
} as const;

/** RFC 9110 section 15.5.8. */
const CHALLENGE = 'Basic realm="svault run"';

export const UNAUTHENTICATED: Refusal = {
  status: 407,
  code: 'PROXY_AUTHENTICATION_REQUIRED',
  error: 'This proxy is of another command: only what svault run started may use it.',
};

const bodyOf = ({ error, code }: Refusal): string => JSON.stringify({ error, code });

export function sendRefusal(res: ServerResponse, refusal: Refusal): void {
  const body = bodyOf(refusal);
  // The rest of the body is read: a client that cannot send it would not read the answer. 407 closes the connection.
  res.req.resume();
  res.writeHead(refusal.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(refusal.status === 407 && { 'proxy-authenticate': CHALLENGE, connection: 'close' }),
  });
  res.end(body);
}

/** For a CONNECT, for which Node has no response object. */
export function refuseConnect(socket: Duplex, refusal: Refusal): void {
  const body = bodyOf(refusal);
  const challenge = refusal.status === 407 ? `Proxy-Authenticate: ${CHALLENGE}\r\n` : '';
  endWith(
    socket,
    `HTTP/1.1 ${refusal.status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${challenge}Connection: close\r\n\r\n${body}`,
  );
}

/** Time in which the other side can read the answer; a reset for its unread bytes would discard it. */
const LINGER_MS = 2_000;

/** Writes a last answer and closes the socket soon after, even if the other side keeps its half open. */
export function endWith(socket: Duplex, answer: string): void {
  socket.end(answer);
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
