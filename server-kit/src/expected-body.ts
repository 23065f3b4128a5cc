import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests whose senders wait to be asked for the body (RFC 9110 section 10.1.1, `Expect: 100-continue`). */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Notes that a sender waits: a request that is refused by its head alone is never asked for its body. */
export function noteExpectation(req: IncomingMessage, res: ServerResponse): void {
  waiting.set(req, res);
}

/** Asks for a body that is about to be read, where its sender waits for that. */
export function askForBody(req: IncomingMessage): void {
  waiting.get(req)?.writeContinue();
  waiting.delete(req);
}
