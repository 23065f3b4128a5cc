import type { ClientRequest, IncomingMessage, RequestOptions, ServerResponse, request } from 'node:http';
import { pipeline } from 'node:stream';
import { type FieldLines, withoutHopByHop } from './field-lines.ts';

interface Onward {
  readonly open: typeof request;
  /** Where to, without headers. */
  readonly options: RequestOptions;
  readonly headers: FieldLines;
  /** The header lines of the answer as the client gets them. */
  readonly answered: (answer: IncomingMessage) => FieldLines;
  /** There is no answer. */
  readonly failed: (error: Error) => void;
}

/** Sends a request on and its answer back, both as they come in: each side waits for the slower one. */
export function sendOn(req: IncomingMessage, res: ServerResponse, onward: Onward): void {
  const { open, options, headers, answered, failed } = onward;
  const { method = 'GET' } = req;
  const framing = framingOf(req);
  const send = (isSecond: boolean): ClientRequest => {
    const call = open({ ...options, method, headers: [...headers, ...framing], setHost: false });
    call.once('response', (answer) => {
      const lines = answered(answer);
      res.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', [...lines]);
      // Where the answer breaks off, so does what the client gets.
      pipeline(answer, res, () => undefined);
    });
    call.once('error', (error: NodeJS.ErrnoException) => {
      if (res.headersSent || res.destroyed) return void res.destroy();
      // A kept connection that the other side had just closed. Nothing was answered, and a request without a body is still whole.
      const isStale = call.reusedSocket && error.code === 'ECONNRESET' && !isSecond;
      if (isStale && framing.length === 0 && IDEMPOTENT.has(method)) send(true).end();
      else failed(error);
    });
    res.once('close', () => {
      if (!res.writableFinished) call.destroy();
    });
    // Where the answer came before the end of the body: a client that reads nothing until it has sent all of it would wait for ever.
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

/** RFC 9110 section 9.2.2, of those that have no body. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);

/** How the length of the body is told; nothing where there is none (RFC 9112 section 6.3). */
function framingOf({ method = '', headers }: IncomingMessage): FieldLines {
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked'];
  if (headers['content-length'] !== undefined) return ['Content-Length', headers['content-length']];
  // Node would announce a chunked one.
  return ['POST', 'PUT', 'PATCH'].includes(method) ? ['Content-Length', '0'] : [];
}

const LENGTH: ReadonlySet<string> = new Set(['content-length']);

/** The header lines of a request to send on, without those that tell the length of its body. */
export const sentOn = ({ rawHeaders }: IncomingMessage, dropped: ReadonlySet<string> = LENGTH): string[] =>
  withoutHopByHop(rawHeaders, new Set([...dropped, ...LENGTH]));
