import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { headerPairs, randomToken, type HeaderPairs } from '@svault/shared';
import { allowedHostFor } from '@svault/shared/schemas';
import { NotTestable } from '../check/outcome.ts';

/** Where the suite's own server listens, and under which address the webhook under test reaches it. */
export interface UpstreamAddress {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Base URL without trailing slash; absent: `http://` host and port. */
  readonly publicUrl?: string;
}

/** A call that arrived. */
export interface UpstreamCall {
  readonly method: string;
  /** What stood behind the place's URL, query included. */
  readonly rest: string;
  /** Names in lower case, repeated ones kept apart. */
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
}

/** Answers a call, in whatever form and at whatever pace; where it throws, the connection is cut. */
export type UpstreamAnswer = (response: ServerResponse, call: UpstreamCall) => unknown;

/** A path that nobody else knows, with what answers there. */
export interface Place {
  /** To be stored in the webhook. */
  readonly url: string;
  /** Calls so far, with their whole bodies. */
  readonly calls: readonly UpstreamCall[];
  /** Answers all following calls. */
  answerWith(answer: UpstreamAnswer): void;
}

/** The server that a webhook under test calls: upstream of its proxies and provider of its tokens. */
export interface Upstream {
  /** The entry of `allowedHosts` for every place, with its scheme where that is plain http. */
  readonly allowedHost: string;
  /** Whether nothing stands between: what the webhook sends arrives as it was sent. */
  readonly direct: boolean;
  /** Why what came was no HTTP request, one word each. */
  readonly malformed: readonly string[];
  /** A new place; it answers 200 with `{"ok":true}` where nothing else is said. */
  open(answer?: UpstreamAnswer): Place;
  /** A second upstream at the same address, on another port; it is closed with this one. */
  other(): Promise<Upstream>;
  close(): Promise<void>;
}

const SLASH_AND_TOKEN = /^\/([A-Za-z0-9_-]{22})(.*)$/s;
/** Above what the suite has a webhook send: 8 MiB. */
const MAX_BODY_BYTES = 9 * 1024 * 1024;
/** Above what a webhook must accept (HTP-19), most of which it forwards. */
const MAX_HEADER_BYTES = 64 * 1024;
/** What is kept has to fit into memory, whatever a webhook sends and however often. */
const MAX_CALLS = 200;
const MAX_KEPT_BYTES = 128 * 1024 * 1024;
/** Longer than a run: a connection that is closed while the webhook uses it again would look like the webhook's fault. */
const KEEP_ALIVE_MS = 10 * 60_000;
const JSON_OK: UpstreamAnswer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
};

interface OpenPlace {
  readonly calls: UpstreamCall[];
  answer: UpstreamAnswer;
}

/** All places, and how many bytes of bodies are kept. */
interface Places {
  readonly byToken: Map<string, OpenPlace>;
  keptBytes: number;
}

/**
 * Starts the server. Whatever is sent to it ends the connection at most, never the process.
 * @throws NotTestable where it cannot listen
 */
export async function startUpstream(address: UpstreamAddress): Promise<Upstream> {
  const places: Places = { byToken: new Map(), keptBytes: 0 };
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, maxHeaderSize: MAX_HEADER_BYTES },
    (request, response) => {
      response.on('error', () => undefined);
      void serve(places, request, response).catch(() => response.destroy());
    },
  );
  const malformed: string[] = [];
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A connection that was merely cut says nothing.
    if (error.code?.startsWith('HPE_') === true && malformed.length < MAX_CALLS) malformed.push(error.code);
    socket.destroy();
  });
  await listen(server, address);
  const { port } = server.address() as AddressInfo;
  const base = new URL(address.publicUrl ?? `http://${address.host}:${port}`);
  const baseUrl = base.origin + base.pathname.replace(/\/$/, '');
  let other: Promise<Upstream> | undefined;
  return {
    allowedHost: allowedHostFor(base),
    direct: address.publicUrl === undefined,
    malformed,
    open(answer = JSON_OK) {
      const token = randomToken(16);
      const place: OpenPlace = { calls: [], answer };
      places.byToken.set(token, place);
      return {
        url: `${baseUrl}/${token}`,
        calls: place.calls,
        answerWith: (next) => {
          place.answer = next;
        },
      };
    },
    other: () => (other ??= startUpstream({ host: address.host, port: 0 })),
    async close() {
      await (await other)?.close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, { host, port }: UpstreamAddress): Promise<void> {
  try {
    server.listen(port, host.replace(/^\[|\]$/g, ''));
    await once(server, 'listening');
  } catch (error) {
    throw new NotTestable(
      `the suite’s own upstream cannot listen on ${host}:${port} (${(error as Error).message}); choose another with --upstream-listen`,
    );
  }
  // A connection that cannot be accepted is one that the webhook does not get; an unheard error would end the process.
  server.on('error', () => undefined);
}

async function serve(places: Places, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // What stands in front of the suite may keep a path of its own; the token is the last thing before what is ours.
  const [, token = '', rest = ''] = SLASH_AND_TOKEN.exec(pathFromToken(request.url ?? '', places)) ?? [];
  const place = places.byToken.get(token);
  if (place === undefined) {
    response.writeHead(404).end();
    return;
  }
  const body = await readBody(request);
  places.keptBytes += body.byteLength;
  if (place.calls.length >= MAX_CALLS || places.keptBytes > MAX_KEPT_BYTES)
    throw new Error('too much to be kept');
  const headers = headerPairs(request.rawHeaders).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  );
  const call: UpstreamCall = { method: request.method ?? '', rest, headers, body };
  place.calls.push(call);
  await place.answer(response, call);
}

function pathFromToken(url: string, { byToken }: Places): string {
  for (let at = url.indexOf('/'); at !== -1; at = url.indexOf('/', at + 1)) {
    if (byToken.has(SLASH_AND_TOKEN.exec(url.slice(at))?.[1] ?? '')) return url.slice(at);
  }
  return url;
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.byteLength;
    if (size > MAX_BODY_BYTES) throw new Error('the body is too large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
