import type { AuditEvent } from './event-words.ts';

/** The server sends a comment every 15 seconds: a stream that is silent for longer is broken. */
const SILENT_MS = 45_000;
/** An event is a few hundred characters; the server bounds each part of one. */
const MAX_BLOCK = 64 * 1024;

/**
 * Reads server-sent events of `GET /api/events` until the server ends them.
 *
 * @param onEvents takes what arrived together, oldest first
 * @throws Error where the connection breaks, is silent for too long, or carries something else
 */
export async function readEvents(
  stream: ReadableStream<Uint8Array>,
  onEvents: (events: readonly AuditEvent[]) => void,
): Promise<void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await within(SILENT_MS, reader);
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > MAX_BLOCK) throw new Error('an event without an end');
    const events = blocks.flatMap((block) => {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      return data === undefined ? [] : [JSON.parse(data) as AuditEvent];
    });
    if (events.length > 0) onEvents(events);
  }
}

async function within(ms: number, reader: ReadableStreamDefaultReader<Uint8Array>) {
  const timer = setTimeout(() => void reader.cancel(new Error('the stream is silent')), ms);
  try {
    return await reader.read();
  } finally {
    clearTimeout(timer);
  }
}
