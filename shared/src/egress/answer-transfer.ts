import type { Writable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Client, Dispatcher } from 'undici';
import type { EndSignal } from '../ending.ts';
import { EgressFailed } from './egress-errors.ts';

/** Passed on since the last collection; V8 alone waits for 32 MB and more. */
const COLLECT_EACH_BYTES = 4 * 1024 * 1024;

let collect: ((options: { type: 'minor' }) => void) | undefined;
let passed = 0;

/**
 * Frees the pieces of answers that were passed on. They are outside V8's heap, which hardly counts them: a large answer
 * would leave tens of megabytes of them behind, in each program that streams it.
 * @param bytes that were passed on
 */
function notePassed(bytes: number): void {
  passed += bytes;
  if (passed < COLLECT_EACH_BYTES) return;
  passed = 0;
  collect ??= exposedCollector();
  collect({ type: 'minor' });
}

function exposedCollector(): (options: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as (options: { type: 'minor' }) => void;
}

/** Where a call goes, of an address that may be called. */
export interface Target {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
}

/** A call whose answer is streamed. */
export interface EgressStream {
  readonly method: string;
  /** Absolute, `https` (or `http` to addresses that the operator permits), without userinfo. */
  readonly url: string;
  /** The request target, from `/` on, sent as it is. Default: the URL's path and query, as a URL parser writes them. */
  readonly target?: string;
  /** Without `host`, which comes from the URL, and without framing, which comes from the body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Until the head of the final answer is there; interim ones (1xx) do not count. */
  readonly headTimeoutMs: number;
  /** Between two pieces of the answer's body, while the taker accepts them. */
  readonly idleTimeoutMs: number;
  /** Calls of different partitions never share a connection: an account, a proxy. */
  readonly partition: string;
  /** Ends the call, at any time. */
  readonly signal?: EndSignal;
}

/** The head of an answer; a redirect is an answer like any other. */
export interface AnswerHead {
  readonly status: number;
  /** As received, in order: names in lower case, values as Latin-1 text. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** Gets the head of an answer, once, and returns the stream for its body. */
export type TakeAnswer = (head: AnswerHead) => Writable;

/** How much of an answer's head is read; more is no HTTP that anybody wants. */
export interface HeadBounds {
  readonly bytes: number;
  readonly fields: number;
}

/** RFC 9110 section 15.2: an unbounded number of them would keep a call open for ever. */
export const MAX_INTERIM_ANSWERS = 8;

/** What a call on a connection needs. */
export interface Transfer {
  readonly bounds: HeadBounds;
  readonly take: TakeAnswer;
  /** The connection is not used again after this call. */
  readonly last: boolean;
  /** Ends the call at once; the call fails with its reason. */
  readonly signal: EndSignal;
  /** Told when the head of the final answer is there. */
  onHead(): void;
}

/**
 * Sends one call on a client that has no other, and streams the answer at the pace of the taker.
 * @returns once the taker is finished. Rejects with the taker destroyed where there is one; the caller then has to
 *   destroy the client, which may still be connecting or reading
 */
export function transferAnswer(
  client: Client,
  path: string,
  call: EgressStream,
  { bounds, take, last, signal, onHead }: Transfer,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let settled = false;
  let ended = false;
  let interim = 0;
  let held = false;
  let taker: Writable | undefined;
  let idle: NodeJS.Timeout | undefined;

  const settle = (error?: Error): void => {
    if (settled) return;
    settled = true;
    clearTimeout(idle);
    signal.removeEventListener('abort', onAbort);
    if (error === undefined) return resolve();
    taker?.destroy();
    reject(error);
  };
  const onAbort = (): void => settle(signal.reason as Error);

  const begin = (controller: Dispatcher.DispatchController, head: AnswerHead): void => {
    const taking = take(head);
    taker = taking;
    idle = setTimeout(() => {
      // No time limit while the taker accepts nothing; the timer restarts when it continues.
      if (!held) settle(new EgressFailed('timeout'));
    }, call.idleTimeoutMs);
    const goOn = (): void => {
      if (settled) return;
      held = false;
      idle?.refresh();
      controller.resume();
    };
    taking.on('drain', goOn);
    taking.on('finish', () => settle(ended ? undefined : new EgressFailed('aborted')));
    taking.on('close', () => {
      if (!settled) settle(new EgressFailed('aborted'));
    });
    taking.on('error', (error) => settle(new EgressFailed('aborted', { cause: error })));
    if (taking.destroyed) settle(new EgressFailed('aborted'));
    else if (taking.writableNeedDrain) hold(controller);
  };
  const hold = (controller: Dispatcher.DispatchController): void => {
    held = true;
    controller.pause();
  };

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: () => undefined,
    onResponseStart: (controller, status) => {
      if (settled) return;
      if (status < 200) {
        interim += 1;
        if (interim > MAX_INTERIM_ANSWERS) settle(new EgressFailed('protocol'));
        return;
      }
      const fields = fieldsOf(controller.rawHeaders);
      if (fields.length > bounds.fields) return settle(new EgressFailed('protocol'));
      onHead();
      try {
        begin(controller, { status, fields });
      } catch (error) {
        settle(new EgressFailed('aborted', { cause: error }));
      }
    },
    onResponseData: (controller, chunk) => {
      if (settled || taker === undefined) return;
      idle?.refresh();
      if (!taker.write(chunk)) hold(controller);
      notePassed(chunk.byteLength);
    },
    onResponseEnd: () => {
      ended = true;
      clearTimeout(idle);
      if (!settled) taker?.end();
    },
    onResponseError: (_controller, error) => settle(error),
  };

  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  else
    client.dispatch(
      {
        path,
        method: call.method,
        headers: call.headers,
        body: call.body ?? null,
        ...(last && { reset: true }),
        // Both are counted here: for the head over all interim answers, for the body only while it is taken.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      handler,
    );
  return promise;
}

/** From the client's flat list of raw names and values. */
function fieldsOf(raw: Dispatcher.DispatchController['rawHeaders']): (readonly [string, string])[] {
  const fields: (readonly [string, string])[] = [];
  if (!Array.isArray(raw)) return fields;
  for (let at = 0; at + 1 < raw.length; at += 2)
    fields.push([textOf(raw[at]).toLowerCase(), textOf(raw[at + 1])]);
  return fields;
}

const textOf = (part: Buffer | string | undefined): string =>
  typeof part === 'string' ? part : (part?.toString('latin1') ?? '');
