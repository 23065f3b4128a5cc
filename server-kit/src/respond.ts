import type { ServerResponse } from 'node:http';
import { linger } from './linger.ts';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.ts';

export const JSON_CONTENT: readonly string[] = ['Content-Type', 'application/json; charset=utf-8'];
export const HTML_CONTENT: readonly string[] = ['Content-Type', 'text/html; charset=utf-8'];

/** A response whose body is at hand whole. */
export interface WholeResponse {
  readonly status: number;
  /** Flat: name, value, name, value, …; they join those that were set on the response before. */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array;
  /** Ends the connection, and drops the rest of a request that is still on its way. False unless given. */
  readonly closes?: boolean;
}

/**
 * Writes a whole response with its `Content-Length` and `X-Request-Id`. Both servers write through it, except where Express does and where an
 * upstream's response is passed on; a flat list of headers is Node's cheapest way to send them.
 */
export function respond(res: ServerResponse, { status, headers, body, closes = false }: WholeResponse): void {
  const connection = closes ? ['Connection', 'close'] : [];
  const length = ['Content-Length', String(Buffer.byteLength(body))];
  res.writeHead(status, [...headers, ...connection, REQUEST_ID_HEADER, requestIdOf(res.req), ...length]);
  if (closes && !res.req.complete) endWhenReceived(res, body);
  else res.end(body);
}

/** Responds with JSON. Express's `res.json` would negotiate and stringify with options that are not set here. */
export function respondJson(res: ServerResponse, content: object, status = 200): void {
  respond(res, { status, headers: JSON_CONTENT, body: JSON.stringify(content) });
}

/** Drops what still comes until the request is whole or its client stops sending, then ends the response. */
function endWhenReceived(res: ServerResponse, body: string | Uint8Array): void {
  res.write(body);
  const end = (): void => {
    stop();
    res.end();
  };
  const stop = linger(res.req.once('end', end).once('close', end), res.req.socket, end);
}
