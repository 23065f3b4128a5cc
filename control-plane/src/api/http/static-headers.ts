import type { RequestHandler } from 'express';

/**
 * A handler that writes the headers of its answers itself, built once. What it throws is answered by the error handler, and
 * no cache may keep that answer either.
 *
 * @param standing headers of every answer
 */
export function withStaticHeaders(
  standing: ReadonlyArray<readonly [name: string, value: string]>,
  handle: RequestHandler,
): RequestHandler {
  return async (req, res, next) => {
    try {
      await handle(req, res, next);
    } catch (error) {
      if (!res.headersSent) for (const [name, value] of standing) res.setHeader(name, value);
      throw error;
    }
  };
}
