import type { ServerResponse } from 'node:http';

/**
 * How long a stream of events may keep a server from stopping. A `standing` one answers nothing in particular (MCP
 * specification, "Listening for Messages from the Server": it may be closed at any time); the other has a result to bring.
 */
export type EventStream = 'standing' | 'answering';

const streams = new WeakMap<ServerResponse, EventStream>();

/**
 * Notes that an answer is a stream of events, which may end anywhere without anybody taking the piece for the whole: what
 * stands behind its last empty line is dropped by whoever reads it (HTML standard, "Interpreting an event stream").
 *
 * @param fields of the answer's head, their names in lower case
 */
export function noteEventStream(
  res: ServerResponse,
  fields: ReadonlyArray<readonly [name: string, value: string]>,
  kind: EventStream,
): void {
  const valueOf = (wanted: string): string | undefined => fields.find(([name]) => name === wanted)?.[1];
  const isStream = /^text\/event-stream\s*(?:;|$)/i.test(valueOf('content-type') ?? '');
  // With a length or a coding, one that ends early is broken all the same.
  if (isStream && valueOf('content-length') === undefined && valueOf('content-encoding') === undefined)
    streams.set(res, kind);
}

export const eventStreamOf = (res: ServerResponse): EventStream | undefined => streams.get(res);
