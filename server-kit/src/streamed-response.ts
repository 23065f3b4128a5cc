import { Ending } from '@svault/shared';
import type { ServerResponse } from 'node:http';

/** A `standing` event stream may end at any time (MCP specification); an `answering` one has a result to bring. */
export type EventStream = 'standing' | 'answering';

const streams = new WeakMap<ServerResponse, EventStream>();

/**
 * Marks a response as an event stream, which may end anywhere: readers drop an incomplete event (HTML standard,
 * "Interpreting an event stream").
 * @param fields of the response, with lower-case names
 */
export function markEventStream(
  res: ServerResponse,
  fields: ReadonlyArray<readonly [name: string, value: string]>,
  kind: EventStream,
): void {
  const valueOf = (wanted: string): string | undefined => fields.find(([name]) => name === wanted)?.[1];
  const isStream = /^text\/event-stream\s*(?:;|$)/i.test(valueOf('content-type') ?? '');
  // With a length or a content coding a stream that ends early is broken.
  if (isStream && valueOf('content-length') === undefined && valueOf('content-encoding') === undefined)
    streams.set(res, kind);
}

export const eventStreamOf = (res: ServerResponse): EventStream | undefined => streams.get(res);

/**
 * The end of what is done for a response, aborted when the client disconnects before it has the whole of it; a pipelined one
 * included.
 */
export function abortOnDisconnect(res: ServerResponse): Ending {
  const ending = new Ending();
  res.once('close', () => {
    if (!res.writableFinished) ending.abort();
  });
  return ending;
}
