import { Agent, type Dispatcher, errors } from 'undici';
import { LRUCache } from 'lru-cache';
import { isIP } from 'node:net';
import { admit, parseTarget } from './admission.ts';
import { parseAllowList } from './allow-list.ts';
import { parseConnectTo } from './connect-to.ts';
import { createAnswerStreams } from './answer-stream.ts';
import {
  type EgressStream,
  type HeadBounds,
  MAX_INTERIM_ANSWERS,
  type TakeAnswer,
  type Target,
} from './answer-transfer.ts';
import { startDeadline } from './deadline.ts';
import { EgressFailed, EgressRefused, failureOf } from './egress-errors.ts';
import { type Resolve, guardedConnector, systemResolve } from './guarded-connector.ts';

/** A call to make. */
export interface EgressRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute, `https` (or `http` to addresses that the operator permits), without userinfo. */
  readonly url: string;
  /** Without `host`, which comes from the URL. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** For the whole call, to the last byte of the answer; time in which this process could not run does not count. */
  readonly timeoutMs: number;
  /** The largest body that is taken; 1 MiB unless given. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
  /** On a new connection, since a kept one may be closed as the call is written: for calls not to be repeated. */
  readonly alone?: boolean;
}

/** A complete answer; a redirect is an answer like any other. */
export interface EgressResponse {
  readonly status: number;
  /** Names in lower case; the values of repeated fields joined by a comma and a space. */
  readonly headers: Readonly<Record<string, string>>;
  /** As sent, no content coding undone. */
  readonly body: Buffer;
}

/** The egress client: the only outgoing HTTP. */
export interface Egress {
  /**
   * @throws EgressRefused before any connection; EgressFailed where no complete answer came; another error for a call
   *   that cannot be written as HTTP, a header with a line feed for instance
   */
  request(call: EgressRequest): Promise<EgressResponse>;
  /**
   * Streams an answer at the pace of the taker. Resolves once all of it is taken and the taker
   * finished.
   * @param take gets the head, once, and returns the stream for the body; destroying that ends the call
   * @throws as `request`; if `take` was called by then, its stream is destroyed
   */
  stream(call: EgressStream, take: TakeAnswer): Promise<void>;
  /** Ends calls under way and closes idle connections. */
  close(): Promise<void>;
}

const DEFAULT_MAX_BYTES = 1024 * 1024;
const ANSWER_HEAD: HeadBounds = { bytes: 16 * 1024, fields: 200 };
const KEEP_ALIVE_MS = 30_000;
/** Addresses whose parts are kept, of those that were called last. */
const MAX_KNOWN_TARGETS = 1_000;
/** More calls than this to one origin wait for a connection, within their own time. */
const MAX_CONNECTIONS = 64;

/**
 * The egress client of both programs (PROTOCOL.md section 6): addresses are checked, and the one that was checked is
 * connected to; no redirect is followed; proxy variables of the environment are ignored; time and size are capped.
 * @param options.allow entries of `SV_EGRESS_ALLOW`: CIDR ranges, addresses, host names
 * @param options.connectTo entries of `SV_CONNECT_TO`: `HOST:PORT=HOST:PORT`
 * @param options.resolve instead of the machine's resolver
 * @throws RangeError for an entry that is none of these
 */
export function createEgress(options: {
  readonly allow: readonly string[];
  readonly connectTo?: readonly string[];
  readonly resolve?: Resolve;
  /** 16 KiB and 200 fields unless given. */
  readonly answerHead?: HeadBounds;
}): Egress {
  const allow = parseAllowList(options.allow);
  const { answerHead = ANSWER_HEAD } = options;
  const connectTo = parseConnectTo(options.connectTo ?? []);
  const connect = guardedConnector(allow, options.resolve ?? systemResolve, connectTo);
  // An agent of our own: the global one is where environment and other code set proxies.
  const agent = new Agent({
    connect,
    allowH2: false,
    pipelining: 1,
    connections: MAX_CONNECTIONS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: answerHead.bytes,
    // The whole call has one deadline, its signal.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const streams = createAnswerStreams(connect, answerHead);

  const targets = new LRUCache<string, Target>({ max: MAX_KNOWN_TARGETS });
  const targetOf = (text: string): Target => {
    const known = targets.get(text);
    if (known !== undefined) return known;
    const { url, destination } = parseTarget(text);
    if (connectTo(url) === undefined && isIP(destination.host) !== 0)
      admit(destination, [destination.host], allow);
    const target = { origin: url.origin, path: url.pathname + url.search };
    targets.set(text, target);
    return target;
  };
  const admitted = ({ url, headers = {} }: Pick<EgressRequest, 'url' | 'headers'>): Target => {
    if (Object.keys(headers).some((name) => name.toLowerCase() === 'host'))
      throw new RangeError('host comes from the URL');
    return targetOf(url);
  };
  const failing = (error: unknown): never => {
    // A header or method that cannot be sent is the caller's mistake and not a failure of the call.
    if (error instanceof EgressRefused || error instanceof errors.InvalidArgumentError) throw error;
    throw failureOf(error);
  };

  return {
    request: async (call) => send(agent, admitted(call), call).catch(failing),
    stream: async (call, take) => streams.stream(admitted(call), call, take).catch(failing),
    close: async () => {
      streams.close();
      await agent.destroy();
    },
  };
}

async function send(agent: Agent, { origin, path }: Target, call: EgressRequest): Promise<EgressResponse> {
  const late = new AbortController();
  const clear = startDeadline(call.timeoutMs, () => late.abort(new EgressFailed('timeout')));
  let interim = 0;
  try {
    const answer = await agent.request({
      origin,
      path,
      method: call.method,
      headers: { ...call.headers },
      body: call.body ?? null,
      // Closed after the call, so no later call can reuse it.
      ...(call.alone === true && { reset: true }),
      onInfo: () => {
        interim += 1;
        if (interim > MAX_INTERIM_ANSWERS) late.abort(new EgressFailed('protocol'));
      },
      signal: call.signal === undefined ? late.signal : AbortSignal.any([late.signal, call.signal]),
    });
    return {
      status: answer.statusCode,
      headers: joinFields(answer.headers),
      body: await readWithin(answer, call.maxBytes ?? DEFAULT_MAX_BYTES),
    };
  } finally {
    clear();
  }
}

async function readWithin(
  { headers, body }: Pick<Dispatcher.ResponseData, 'headers' | 'body'>,
  maxBytes: number,
): Promise<Buffer> {
  if (Number(headers['content-length']) > maxBytes) {
    // Rejects by the announced length, before the body arrives.
    body.on('error', () => undefined).destroy();
    throw new EgressFailed('too_large');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop early destroys the body, and with it the connection.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new EgressFailed('too_large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

function joinFields(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) fields[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return fields;
}
