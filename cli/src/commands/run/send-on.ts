import type { ClientRequest, IncomingMessage, RequestOptions, ServerResponse, request } from 'node:http';
import { pipeline } from 'node:stream';
import { type FieldLines, withoutHopByHop } from './field-lines.ts';

interface Onward {
  readonly open: typeof request;
  /** The target, without headers. */
  readonly options: RequestOptions;
  readonly headers: FieldLines;
  /** @returns the header lines that the client gets */
  readonly answered: (answer: IncomingMessage) => FieldLines;
  /** The request failed before an answer. */
  readonly failed: (error: Error) => void;
}

/** Forwards a request and its answer as streams, with backpressure in both directions. */
export function sendOn(req: IncomingMessage, res: ServerResponse, onward: Onward): void {
  const { open, options, headers, answered, failed } = onward;
  const { method = 'GET' } = req;
  const framing = framingOf(req);
  const send = (isSecond: boolean): ClientRequest => {
    const call = open({ ...options, method, headers: [...headers, ...framing], setHost: false });
    call.once('response', (answer) => {
      const lines = answered(answer);
      res.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', [...lines]);
      // An answer that is cut off is cut off for the client too.
      pipeline(answer, res, () => undefined);
    });
    call.once('error', (error: NodeJS.ErrnoException) => {
      if (res.headersSent || res.destroyed) return void res.destroy();
      // The server had just closed the idle connection: nothing was answered, and a request without a body can be sent again.
      const isStale = call.reusedSocket && error.code === 'ECONNRESET' && !isSecond;
      if (isStale && framing.length === 0 && IDEMPOTENT.has(method)) send(true).end();
      else failed(error);
    });
    res.once('close', () => {
      if (!res.writableFinished) call.destroy();
    });
    // The answer may precede the end of the body; a client that reads only after sending all of it would wait forever.
    call.once('close', () => {
      req.unpipe(call);
      req.resume();
    });
    return call;
  };
  const call = send(false);
  if (framing.length === 0) call.end();
  else req.pipe(call);
}

/** RFC 9110 section 9.2.2; methods without a body. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);

/** Header lines that frame the body; none without a body (RFC 9112 section 6.3). */
function framingOf({ method = '', headers }: IncomingMessage): FieldLines {
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked'];
  if (headers['content-length'] !== undefined) return ['Content-Length', headers['content-length']];
  // Without it Node would send a chunked body.
  return ['POST', 'PUT', 'PATCH'].includes(method) ? ['Content-Length', '0'] : [];
}

/** The header lines of a request to forward, without its framing. @param dropped further names, in lower case */
export const sentOn = ({ rawHeaders }: IncomingMessage, dropped: Iterable<string> = []): string[] =>
  withoutHopByHop(rawHeaders, new Set(['content-length', ...dropped]));
