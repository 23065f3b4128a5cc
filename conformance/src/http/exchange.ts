import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Resolves with an answer's head. Errors that come later are the body's affair. */
export function headOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Stays for as long as the request does: an error that nobody hears ends the process.
    request.on('error', reject);
    request.on('response', resolve);
    // Switching protocols is no answer to anything that the suite asks.
    request.on('upgrade', (_message, socket) => {
      socket.on('error', () => undefined).destroy();
      reject(new Error('the answer was 101 Switching Protocols'));
    });
    request.on('close', () => reject(new Error('the connection was closed before an answer')));
    // Without the option the agent's time for idle connections would be one for answers too.
    request.on('timeout', () => undefined);
  });
}

/** A body on its way. */
interface BodyOnItsWay {
  /**
   * The answer's pieces.
   * @param signal what ends the request; where only the end of the connection ends an answer, this looks like it
   * @throws what `failed` makes of the reason
   */
  answered(
    message: IncomingMessage,
    signal: AbortSignal,
    failed: (error: unknown) => Error,
  ): AsyncIterable<Uint8Array>;
}

/** Bodies up to this go out at once. */
const PIECE_BYTES = 64 * 1024;

/**
 * Writes a body, a long one in pieces, and stops as soon as an answer comes: a webhook may refuse by the length alone
 * and close, and a client that goes on writing then loses the answer to the reset that follows.
 */
export function startBody(request: ClientRequest, body: Uint8Array): BodyOnItsWay {
  let state: 'under way' | 'sent' | 'cut short' = 'under way';
  request.on('response', () => {
    if (state === 'under way') state = 'cut short';
  });
  if (body.byteLength <= PIECE_BYTES) {
    state = 'sent';
    request.end(body);
  } else {
    const write = async (): Promise<void> => {
      request.flushHeaders();
      for (let at = 0; at < body.byteLength; at += PIECE_BYTES) {
        await nextTurn();
        if (state === 'cut short' || request.destroyed) return;
        if (!request.write(body.subarray(at, at + PIECE_BYTES))) await drained(request);
      }
      if (state === 'under way') state = 'sent';
      request.end();
    };
    // A connection that fails fails the head or the answer as well.
    void write().catch(() => undefined);
  }
  return {
    async *answered(message, signal, failed) {
      try {
        for await (const piece of message) yield piece as Uint8Array;
        signal.throwIfAborted();
      } catch (error) {
        // What a webhook wrote before it reset an upload is its answer, where it did not say how long that is.
        const isWhole = state === 'cut short' && message.headers['content-length'] === undefined;
        if (signal.aborted || !isWhole) throw failed(error);
      } finally {
        // The other side waits for the rest of the body, or is still writing.
        if (state !== 'sent' || !message.complete) request.destroy();
      }
    },
  };
}

/** Until there is room for more, an answer is there, or the connection is gone. */
async function drained(request: ClientRequest): Promise<void> {
  const over = new AbortController();
  const events = ['drain', 'response', 'close'].map((name) => once(request, name, { signal: over.signal }));
  try {
    await Promise.race(events);
  } finally {
    over.abort();
    await Promise.allSettled(events);
  }
}
