import { Agent as HttpAgent, request as httpRequest, type ClientRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { authorityOf, headerPairs, signedPath, utf8, type HeaderPairs } from '@svault/shared';
import { headOf, startBody } from './exchange.ts';

/** A request as it goes over the wire: nothing is added but `host`, `content-length` and `connection`. */
export interface Sent {
  readonly method: string;
  /** From the webhook's address on, with the query if any: `/v1/health`. */
  readonly path: string;
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
  /** What the MAC in `headers` was made over, for the report. */
  readonly signatureBase?: string;
  readonly heldBack?: HeldBack;
}

/** Something that the suite keeps back on purpose, and that an answer must not wait for. */
export interface HeldBack {
  /** Such as `an answer to the head alone (SIG-61)`. */
  readonly expected: string;
  readonly hint: string;
}

export interface Answer {
  readonly sent: Sent;
  readonly status: number;
  /** Names in lower case, repeated ones kept apart. */
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
}

/** An answer whose body is read as it comes; its reader has to finish it or to end it. */
export interface OpenAnswer extends Omit<Answer, 'body'> {
  /** The body's pieces. @throws NoAnswer where the connection breaks or times out */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Cuts the connection. */
  end(): void;
}

/** No answer came: no connection, a timeout, a connection that was cut, an answer without end. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly sent: Sent;
  /** Whether time ran out, as against a connection that failed. */
  readonly timedOut: boolean;
  constructor(sent: Sent, cause: Error) {
    super(`no answer to ${sent.method} ${sent.path.split('?', 1)[0]}: ${cause.message}`, { cause });
    this.sent = sent;
    this.timedOut = cause.name === 'TimeoutError';
  }
}

export interface RequestToSend {
  readonly method: string;
  readonly path: string;
  readonly headers?: HeaderPairs;
  readonly body?: Uint8Array | string;
  readonly signatureBase?: string;
  readonly heldBack?: HeldBack;
}

export interface Client {
  /** @throws NoAnswer, for a body above {@link MAX_BODY_BYTES} too */
  send(request: RequestToSend): Promise<Answer>;
  /** Answers as soon as the head is there. @throws NoAnswer */
  open(request: RequestToSend): Promise<OpenAnswer>;
  /** Ends idle connections; what is sent after it opens others. */
  close(): void;
}

/** The largest thing that a right webhook answers is a list of 500 tokens; whatever sends more is cut off. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Under what servers close idle connections after, so that a request seldom meets one that is closing. */
const KEEP_ALIVE_MS = 1000;

/**
 * Sends requests exactly as they are written, malformed ones too, which rules out `fetch`: it normalises paths, joins
 * repeated headers and refuses a body on GET. Follows no redirect and repeats nothing.
 *
 * Every request has a connection of its own. On one that is used again a server may be closing just then, and nobody
 * can tell whether it worked on the request before, so that it could neither be repeated nor be given up; a server with
 * one thread would wait for the end of each idle connection; and what it left unread of one body it would take for the
 * next request.
 * @param target.timeoutMs from the first byte sent to the last one received
 * @param target.reusesConnections only where the other side is known to be at ease with it
 */
export function createClient(target: {
  readonly webhookUrl: string;
  readonly timeoutMs: number;
  readonly reusesConnections?: boolean | undefined;
}): Client {
  const secure = target.webhookUrl.startsWith('https:');
  const options =
    target.reusesConnections === true
      ? { keepAlive: true, timeout: KEEP_ALIVE_MS, maxSockets: 64 }
      : { keepAlive: false, maxSockets: 64 };
  // An agent even without idle connections: it resumes TLS sessions.
  const agent = secure ? new HttpsAgent(options) : new HttpAgent(options);
  const openRequest = secure ? httpsRequest : httpRequest;
  const base = new URL(target.webhookUrl);
  const authority = authorityOf(target.webhookUrl);

  const start = (sent: Sent, signal: AbortSignal): ClientRequest =>
    openRequest({
      agent,
      host: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port || undefined,
      method: sent.method,
      path: signedPath(target.webhookUrl, sent.path.split('?', 1)[0] ?? '') + queryOf(sent.path),
      headers: [...hostOf(sent, authority), ...sent.headers.flat(), ...lengthOf(sent)],
      signal,
    });

  const open = async (request: RequestToSend): Promise<OpenAnswer> => {
    const sent = sentOf(request);
    const signal = AbortSignal.timeout(target.timeoutMs);
    const failed = (error: unknown): NoAnswer =>
      new NoAnswer(sent, signal.aborted ? TIME_IS_OVER() : (error as Error));
    try {
      const outgoing = start(sent, signal);
      const head = headOf(outgoing);
      const body = startBody(outgoing, sent.body);
      const message = await head;
      return {
        sent,
        status: message.statusCode ?? 0,
        headers: headerPairs(message.rawHeaders).map(([name, value]) => [name.toLowerCase(), value] as const),
        pieces: body.answered(message, signal, failed),
        end: () => outgoing.destroy(),
      };
    } catch (error) {
      throw failed(error);
    }
  };

  return {
    open,
    async send(request) {
      const { pieces, end, ...answer } = await open(request);
      const body: Uint8Array[] = [];
      let size = 0;
      for await (const piece of pieces) {
        size += piece.byteLength;
        if (size > MAX_BODY_BYTES) {
          end();
          throw new NoAnswer(answer.sent, new Error(`the answer is longer than ${MAX_BODY_BYTES} bytes`));
        }
        body.push(piece);
      }
      return { ...answer, body: Buffer.concat(body) };
    },
    close: () => agent.destroy(),
  };
}

/** The webhook's own, unless the request brings another one. */
const hostOf = ({ headers }: Sent, authority: string): readonly string[] =>
  headers.some(([name]) => name === 'host') ? [] : ['host', authority];

const TIME_IS_OVER = (): Error => new DOMException('the time for an answer is over', 'TimeoutError');

function sentOf({ headers = [], body = '', ...request }: RequestToSend): Sent {
  return {
    ...request,
    headers,
    body: typeof body === 'string' ? utf8(body) : body,
  };
}

const FRAMING = new Set(['content-length', 'transfer-encoding']);
/** RFC 9110 section 8.6: methods that a server expects content of are sent with a length, be it 0. */
const EXPECTS_CONTENT = new Set(['POST', 'PUT', 'PATCH']);

/** Without it Node would frame an empty POST as chunked, which many small servers cannot read. */
function lengthOf({ method, headers, body }: Sent): readonly string[] {
  const framed = headers.some(([name]) => FRAMING.has(name.toLowerCase()));
  if (framed || (body.byteLength === 0 && !EXPECTS_CONTENT.has(method))) return [];
  return ['content-length', String(body.byteLength)];
}

function queryOf(path: string): string {
  const at = path.indexOf('?');
  return at === -1 ? '' : path.slice(at);
}
