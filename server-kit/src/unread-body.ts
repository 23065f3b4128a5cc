import type { ServerResponse } from 'node:http';

/** How long a refused client may go on sending before the connection is torn down. */
const LINGER_MS = 1_000;

/**
 * Answers a request that is still on its way, once its head is written. What comes is dropped for a moment, then the
 * connection goes: tearing it down at once would make the client's system throw the answer away unread (RFC 9112
 * section 9.6).
 */
export function endWhenReceived(res: ServerResponse, body: string): void {
  res.write(body);
  const end = (): void => {
    clearTimeout(teardown);
    res.end();
  };
  const teardown = setTimeout(end, LINGER_MS);
  res.req.once('end', end).once('close', end).resume();
}
