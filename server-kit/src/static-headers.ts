import type { DirectHandler } from '@svault/server-kit/direct-routes';

/**
 * Wraps a handler that writes the headers of its responses itself. What it throws is left to the error handler, and no cache
 * may keep that response either.
 *
 * @param staticHeaders headers of every response
 */
export function withStaticHeaders(
  staticHeaders: ReadonlyArray<readonly [name: string, value: string]>,
  handle: DirectHandler,
): DirectHandler {
  return async (req, res) => {
    try {
      await handle(req, res);
    } catch (error) {
      if (!res.headersSent) for (const [name, value] of staticHeaders) res.setHeader(name, value);
      throw error;
    }
  };
}
