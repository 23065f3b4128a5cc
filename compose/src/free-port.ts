import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems assign by themselves, so no other program gets one of these by chance. */
const [FIRST, BEHIND_LAST] = [10_000, 32_000];

/**
 * A port that was free a moment ago, for a program that must know its address before it starts and so cannot simply
 * listen on port 0.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, BEHIND_LAST);
    if (await isFree(port)) return port;
  }
}

/** Whether no other program listens there, on 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}
