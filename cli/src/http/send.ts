import type { IncomingMessage, request as requestOf } from 'node:http';
import manifest from '../../package.json' with { type: 'json' };
import { type ExitName, Failure, failed, unavailable } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { isOnThisMachine } from './service-address.ts';

/** Longer than the control plane waits for a webhook. */
const TIMEOUT_MS = 60_000;
/** A page of 100 tokens, each with all its notes, is less; so is the largest credential. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const USER_AGENT = `svault/${manifest.version}`;

/**
 * Sends a request and reads its answer whole. Redirects are the caller's to follow: none is followed here, so that no
 * key goes where it was not meant to go.
 * @throws Failure where there is no answer, or one too large
 */
export async function send(
  { terminal, signal, flags }: Pick<Invocation, 'terminal' | 'signal' | 'flags'>,
  request: OutgoingRequest,
): Promise<IncomingAnswer> {
  const { method, url } = request;
  const trace = flags.debug === true ? terminal.err : () => undefined;
  const startedAt = performance.now();
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  trace(`> ${method} ${shownUrl(url)}\n`);
  try {
    // Node's own, and not `fetch`: that takes longer to load than both of a get's requests do.
    const { request: open } =
      url.protocol === 'https:' ? await import('node:https') : await import('node:http');
    const answer = await answerTo(request, open, AbortSignal.any([signal, timeout]));
    const bytes = await readWhole(answer, url, request.maxAnswerBytes ?? MAX_ANSWER_BYTES);
    const { statusCode: status = 0 } = answer;
    trace(`< ${status} in ${Math.round(performance.now() - startedAt)} ms\n`);
    return { status, headers: headersOf(answer), text: bytes.toString('utf8'), bytes };
  } catch (error) {
    trace(`< nothing in ${Math.round(performance.now() - startedAt)} ms\n`);
    throw error instanceof Failure ? error : networkFailure(timeout.aborted ? timeout.reason : error, url);
  }
}

/**
 * As {@link send}, for an answer that may have no end: the body of a success is read as it comes, and its failures are Failures too.
 */
export async function sendStreamed(
  { terminal, signal, flags }: Pick<Invocation, 'terminal' | 'signal' | 'flags'>,
  request: OutgoingRequest,
): Promise<IncomingAnswer & { readonly chunks: AsyncIterable<Uint8Array> }> {
  const { method, url } = request;
  const trace = flags.debug === true ? terminal.err : () => undefined;
  trace(`> ${method} ${shownUrl(url)}\n`);
  const silence = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  /** A stream of events sends something every 15 seconds. */
  const listen = (): void => {
    timer = setTimeout(() => silence.abort(new DOMException('', 'TimeoutError')), TIMEOUT_MS);
  };
  const failureOf = (error: unknown): Failure =>
    error instanceof Failure
      ? error
      : networkFailure(silence.signal.aborted ? silence.signal.reason : error, url);
  try {
    const { request: open } =
      url.protocol === 'https:' ? await import('node:https') : await import('node:http');
    listen();
    const answer = await answerTo(request, open, AbortSignal.any([signal, silence.signal]));
    const { statusCode: status = 0 } = answer;
    trace(`< ${status}\n`);
    const isSuccess = status >= 200 && status <= 299;
    const bytes = isSuccess ? Buffer.alloc(0) : await readWhole(answer, url, MAX_ANSWER_BYTES);
    if (!isSuccess) clearTimeout(timer);
    async function* chunks(): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of answer as AsyncIterable<Uint8Array>) {
          // The reader may take longer than the sender may.
          clearTimeout(timer);
          yield chunk;
          listen();
        }
      } catch (error) {
        throw failureOf(error);
      } finally {
        clearTimeout(timer);
      }
    }
    return { status, headers: headersOf(answer), text: bytes.toString('utf8'), bytes, chunks: chunks() };
  } catch (error) {
    clearTimeout(timer);
    trace('< nothing\n');
    throw failureOf(error);
  }
}

function answerTo(
  { method, url, authorization, body }: OutgoingRequest,
  open: typeof requestOf,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const headers = {
    accept: 'application/json',
    'user-agent': USER_AGENT,
    ...(authorization !== undefined && { authorization }),
    // Node says how long a body is of POST and PATCH alone.
    ...(text !== undefined && { 'content-type': 'application/json', 'content-length': text.length }),
  };
  return new Promise((resolve, reject) => {
    open(url, { method, headers, signal }).once('response', resolve).once('error', reject).end(text);
  });
}

const headersOf = ({ headers }: IncomingMessage): ReadonlyMap<string, string> =>
  new Map(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]));

async function readWhole(answer: IncomingMessage, url: URL, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw failed(`${url.host} answers more than a svault would`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Codes of Node's TLS that do not begin with CERT_ and ERR_TLS_. */
const CERTIFICATE_CODES = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
];

/** Why there is no answer, in one line. @param error of the request or of its answer */
export function networkFailure(error: unknown, { host }: URL): Failure {
  const code = networkCode(error);
  if (code.startsWith('CERT_') || code.startsWith('ERR_TLS_') || CERTIFICATE_CODES.includes(code))
    return failed(
      `the certificate of ${host} does not verify (${code}); for an authority of your own, set NODE_EXTRA_CA_CERTS to its file`,
      error,
    );
  if (/^(?:ERR_SSL_|EPROTO$|HPE_(?!HEADER_OVERFLOW))/.test(code))
    return ofAddress(
      'failed',
      `no svault answers at ${host}: it does not speak what its address says (${code})`,
      error,
    );
  switch (code) {
    case 'ECONNREFUSED':
      return ofAddress('unavailable', `nothing listens at ${host}`, error);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return ofAddress(
        'unavailable',
        `there is no address for ${host}; check the spelling, and that this machine is online`,
        error,
      );
    case 'HPE_HEADER_OVERFLOW':
      return failed(`${host} answers more than a svault would`, error);
    case 'TimeoutError':
      return unavailable(`${host} did not answer in time`, error);
    default:
      return unavailable(`${host} cannot be reached (${code})`, error);
  }
}

/** Whether a failure is that a program of this machine does not run: nothing else can refuse a connection to it. */
export const isStoppedHere = ({ cause }: Failure, url: URL): boolean =>
  isOnThisMachine(url) && networkCode(cause) === 'ECONNREFUSED';

const ofAddress = (exit: ExitName, message: string, cause: unknown): Failure =>
  new Failure(exit, message, { cause, isOfAddress: true });

/** The innermost code: an AggregateError holds the failure of each address family. */
function networkCode(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return error.name;
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError && error.errors.length > 0) return networkCode(error.errors[0]);
  return error.cause === undefined ? error.message : networkCode(error.cause);
}

/** A request that a command sends. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: URL;
  /** The whole value of `Authorization`; shown nowhere. */
  readonly authorization?: string | undefined;
  readonly body?: object | undefined;
  /** Members of the body whose values are shown nowhere; true: none of its values is. */
  readonly secretMembers?: readonly string[] | true | undefined;
  /** Where an answer can be larger than others. */
  readonly maxAnswerBytes?: number;
}

/** What came back, whole. */
export interface IncomingAnswer {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** What `text` was read from, for whom it matters that it is UTF-8. */
  readonly bytes: Uint8Array;
}

const HIDDEN = '…';
/** Query parameters that are as good as a credential. */
const SECRET_PARAMETERS = ['ticket', 'token', 'code', 'key'];

/** An address without what must not be shown. */
export function shownUrl(url: URL): string {
  const shown = new URL(url);
  for (const name of SECRET_PARAMETERS)
    if (shown.searchParams.has(name)) shown.searchParams.set(name, HIDDEN);
  return shown.href.replaceAll(encodeURIComponent(HIDDEN), HIDDEN);
}

/** A body without what must not be shown; its members stay, so that a reader sees what would be sent. */
export function shownBody({
  body,
  secretMembers = [],
}: Pick<OutgoingRequest, 'body' | 'secretMembers'>): object | undefined {
  if (body === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]: [string, unknown]) => [
      name,
      secretMembers === true || secretMembers.includes(name) ? HIDDEN : value,
    ]),
  );
}
