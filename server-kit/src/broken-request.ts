import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { linger } from './linger.ts';

const BROKEN: Readonly<Record<string, { status: string; code: string; error: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    code: 'TOO_LARGE',
    error: 'the request header is too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    code: 'INVALID_REQUEST',
    error: 'the request did not arrive in time',
  },
};
const MALFORMED = {
  status: '400 Bad Request',
  code: 'INVALID_REQUEST',
  error: 'the request is no valid HTTP/1.1',
};

const refused = new WeakSet<Duplex>();

/**
 * What Node's parser refuses never reaches a handler; it gets the same JSON shape as every other refusal. What the
 * client still sends is dropped before the connection goes, and is no request any more.
 */
export function refuseBrokenRequest(error: Pick<NodeJS.ErrnoException, 'code'>, socket: Duplex): void {
  if (refused.has(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable || answerInHand(socket)?.headersSent === true)
    return void socket.destroy();
  refused.add(socket);
  const { status, code, error: message } = BROKEN[error.code ?? ''] ?? MALFORMED;
  const body = JSON.stringify({ error: message, code });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
  const parsers = socket.listeners('data');
  linger(socket, socket, () => socket.destroy());
  // Whose rest came after all would be served behind its refusal. Node's parser hands the bytes over once somebody listens.
  for (const parser of parsers) socket.off('data', parser as () => void);
}

/** Node hangs the answer in hand on its socket; those of further requests (pipelining) wait behind it. */
export function answerInHand(socket: Duplex): ServerResponse | undefined {
  const { _httpMessage: answer } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  return answer ?? undefined;
}
