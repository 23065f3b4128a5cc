import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { authorityOf, headerPairs, signedPath, utf8, type HeaderPairs } from '@svault/shared';

/** A request as it goes over the wire: nothing is added but `host`, `content-length` and `connection`. */
export interface Sent {
  readonly method: string;
  /** From the webhook's address on, with the query if any: `/v1/health`. */
  readonly path: string;
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
  /** What the MAC in `headers` was made over, for the report. */
  readonly signatureBase?: string;
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
  /** The body's pieces. @throws NoAnswer where the connection breaks or the time is over */
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
}

export interface Client {
  /** @throws NoAnswer, for a body above {@link MAX_BODY_BYTES} too */
  send(request: RequestToSend): Promise<Answer>;
  /** Answers as soon as the head is there. @throws NoAnswer */
  open(request: RequestToSend): Promise<OpenAnswer>;
  close(): void;
}

/** The largest thing that a right webhook answers is a list of 500 tokens; whatever sends more is cut off. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Under what servers close idle connections after, so that a request seldom meets one that is closing. */
const KEEP_ALIVE_MS = 1000;

/**
 * Sends requests exactly as they are written, malformed ones too, which rules out `fetch`: it normalises paths, joins
 * repeated headers and refuses a body on GET. Follows no redirect.
 * @param target.timeoutMs from the first byte sent to the last one received
 */
export function createClient(target: { readonly webhookUrl: string; readonly timeoutMs: number }): Client {
  const secure = target.webhookUrl.startsWith('https:');
  const options = { keepAlive: true, timeout: KEEP_ALIVE_MS, maxSockets: 64 };
  const agent = secure ? new HttpsAgent(options) : new HttpAgent(options);
  const openRequest = secure ? httpsRequest : httpRequest;
  const base = new URL(target.webhookUrl);

  const start = (sent: Sent, signal: AbortSignal): ClientRequest =>
    openRequest({
      agent,
      host: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port || undefined,
      method: sent.method,
      path: signedPath(target.webhookUrl, sent.path.split('?', 1)[0] ?? '') + queryOf(sent.path),
      headers: [
        'host',
        authorityOf(target.webhookUrl),
        ...sent.headers.flat(),
        ...(sent.body.byteLength > 0 ? ['content-length', String(sent.body.byteLength)] : []),
      ],
      signal,
    });

  /** A connection that the other side closed between two requests says nothing about the webhook: once more then. */
  const head = async (sent: Sent, signal: AbortSignal): Promise<IncomingMessage> => {
    for (let attempt = 1; ; attempt++) {
      const request = start(sent, signal);
      try {
        return await headOf(request, sent.body);
      } catch (error) {
        const closedBefore = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
        if (!closedBefore || attempt > 2) throw noAnswer(sent, signal, error as Error);
      }
    }
  };

  const open = async (request: RequestToSend): Promise<OpenAnswer> => {
    const { method, path, headers = [], body = '', signatureBase } = request;
    const sent: Sent = {
      method,
      path,
      headers,
      body: typeof body === 'string' ? utf8(body) : body,
      ...(signatureBase !== undefined && { signatureBase }),
    };
    const signal = AbortSignal.timeout(target.timeoutMs);
    const message = await head(sent, signal);
    return {
      sent,
      status: message.statusCode ?? 0,
      headers: headerPairs(message.rawHeaders).map(([name, value]) => [name.toLowerCase(), value] as const),
      pieces: piecesOf(message, (error) => noAnswer(sent, signal, error)),
      end: () => message.destroy(),
    };
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

function headOf(request: ClientRequest, body: Uint8Array): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Stays for as long as the request does: an error that nobody hears ends the process.
    request.on('error', reject);
    request.on('response', resolve);
    // Without the option the agent's time for idle connections would be one for answers too.
    request.on('timeout', () => undefined);
    request.end(body);
  });
}

async function* piecesOf(
  message: IncomingMessage,
  failure: (error: Error) => NoAnswer,
): AsyncIterable<Uint8Array> {
  try {
    for await (const piece of message) yield piece as Uint8Array;
  } catch (error) {
    throw failure(error as Error);
  }
}

function noAnswer(sent: Sent, signal: AbortSignal, error: Error): NoAnswer {
  const over = signal.aborted ? new DOMException('the time for an answer is over', 'TimeoutError') : error;
  return new NoAnswer(sent, over);
}

function queryOf(path: string): string {
  const at = path.indexOf('?');
  return at === -1 ? '' : path.slice(at);
}
