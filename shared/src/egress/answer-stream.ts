import type { Writable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { Pool } from 'undici';
import type { buildConnector } from 'undici';
import { EgressFailed } from './egress-errors.ts';

/** A call whose answer is handed on as it comes. */
export interface EgressStream {
  readonly method: 'GET' | 'POST' | 'DELETE' | 'OPTIONS';
  /** Absolute, `https` (or `http` to what the operator named), without userinfo. */
  readonly url: string;
  /** Without `host`, which comes from the URL, and without framing, which comes from the body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Until the head of the final answer is there; interim ones (1xx) do not count. */
  readonly headTimeoutMs: number;
  /** Between two pieces of the answer's body, while somebody takes them. */
  readonly idleTimeoutMs: number;
  /** Calls of different partitions never share a connection: an account, a proxy. */
  readonly partition: string;
  /** Ends the call, at any time. */
  readonly signal?: AbortSignal;
}

/** The head of an answer; a redirect is an answer like any other. */
export interface AnswerHead {
  readonly status: number;
  /** As received, in order: names in lower case, values as Latin-1 text. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** What takes the body of an answer; told once, when its head is there. */
export type TakeAnswer = (head: AnswerHead) => Writable;

/** How much of an answer's head is read; more is no HTTP that anybody wants. */
export interface HeadBounds {
  readonly bytes: number;
  readonly fields: number;
}

const KEEP_ALIVE_MS = 30_000;
/** Partitions whose idle connections are kept. */
const MAX_POOLS = 1_000;
/** Of one partition to one origin; further calls wait, within the time for their head. */
const MAX_CONNECTIONS = 256;
/** RFC 9110 section 15.2: nobody needs more; a flood of them would hold a call open for ever. */
const MAX_INTERIM_ANSWERS = 8;

/** Connections by partition and origin, and the calls on them. The caller has admitted the URL; the connector checks again. */
export interface AnswerStreams {
  /** Resolves once the taker has everything and is finished. Rejects, with the taker destroyed where there is one. */
  stream(url: URL, call: EgressStream, take: TakeAnswer): Promise<void>;
  close(): Promise<void>;
}

export function createAnswerStreams(connect: buildConnector.connector, bounds: HeadBounds): AnswerStreams {
  const pools = new LRUCache<string, Pool>({
    max: MAX_POOLS,
    // What is under way on it ends in its own time.
    dispose: (pool) => void pool.close().catch(() => undefined),
  });
  const poolOf = (partition: string, origin: string): Pool => {
    const key = `${partition} ${origin}`;
    const known = pools.get(key);
    if (known !== undefined) return known;
    const pool = new Pool(origin, {
      connect,
      allowH2: false,
      pipelining: 1,
      connections: MAX_CONNECTIONS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: bounds.bytes,
    });
    pools.set(key, pool);
    return pool;
  };

  return {
    stream: async (url, call, take) => {
      const ended = new AbortController();
      const end = (why: EgressFailed): void => ended.abort(why);
      const onSignal = (): void => end(new EgressFailed('aborted'));
      const headDeadline = setTimeout(() => end(new EgressFailed('timeout')), call.headTimeoutMs);
      if (call.signal?.aborted === true) onSignal();
      call.signal?.addEventListener('abort', onSignal, { once: true });
      let interim = 0;
      try {
        await poolOf(call.partition, url.origin).stream(
          {
            path: url.pathname + url.search,
            method: call.method,
            headers: call.headers,
            body: call.body ?? null,
            headersTimeout: 0,
            bodyTimeout: call.idleTimeoutMs,
            responseHeaders: 'raw',
            signal: ended.signal,
            onInfo: () => {
              interim += 1;
              if (interim > MAX_INTERIM_ANSWERS) end(new EgressFailed('protocol'));
            },
          },
          ({ statusCode, headers }) => {
            clearTimeout(headDeadline);
            const fields = fieldsOf(headers as unknown as readonly string[]);
            if (fields.length > bounds.fields) throw new EgressFailed('protocol');
            return take({ status: statusCode, fields });
          },
        );
      } finally {
        clearTimeout(headDeadline);
        call.signal?.removeEventListener('abort', onSignal);
      }
    },
    close: async () => {
      const open = [...pools.values()];
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

/** From the client's flat list. */
function fieldsOf(flat: readonly string[]): (readonly [string, string])[] {
  const fields: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2)
    fields.push([(flat[at] ?? '').toLowerCase(), flat[at + 1] ?? '']);
  return fields;
}
