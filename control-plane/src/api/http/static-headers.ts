import type { RequestHandler } from 'express';

/**
 * Wraps a handler that writes the headers of its responses itself. What it throws is left to the error handler, and no cache
 * may keep that response either.
 *
 * @param staticHeaders headers of every response
 */
export function withStaticHeaders(
  staticHeaders: ReadonlyArray<readonly [name: string, value: string]>,
  handle: RequestHandler,
): RequestHandler {
  return async (req, res, next) => {
    try {
      await handle(req, res, next);
    } catch (error) {
      if (!res.headersSent) for (const [name, value] of staticHeaders) res.setHeader(name, value);
      throw error;
    }
  };
}
