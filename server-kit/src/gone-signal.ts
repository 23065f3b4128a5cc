import type { ServerResponse } from 'node:http';

/** Aborted when a client goes before it has the whole answer, one that still waits behind another (pipelining) too. */
export function goneSignal(res: ServerResponse): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) gone.abort();
  });
  return gone.signal;
}
