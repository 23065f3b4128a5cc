import type { ServerResponse } from 'node:http';
import { linger } from './linger.ts';

/**
 * Answers a request that is still on its way, once its head is written. What comes is dropped until the request is whole or
 * its client stops sending, then the connection goes.
 */
export function endWhenReceived(res: ServerResponse, body: string): void {
  res.write(body);
  const end = (): void => {
    stop();
    res.end();
  };
  const stop = linger(res.req.once('end', end).once('close', end), res.req.socket, end);
}
