import { type Request, type RequestHandler, type Response, Router } from 'express';
import { only, route } from '@svault/server-kit/request-handler';
import type { RequestReceiver } from './authenticate-request.ts';
import { MAX_BODY_BYTES, parseJsonBody } from './body.ts';

/**
 * One endpoint, which answers these methods alone.
 *
 * @param before sees requests of every method
 */
export function endpoint(
  path: string,
  methods: readonly string[],
  handle: (req: Request, res: Response) => Promise<void> | void,
  before: readonly RequestHandler[] = [],
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  return router.all(path, ...before, only(methods), route(handle));
}

/** A signed `POST` endpoint: authenticates the request and parses its JSON before `handle` responds. */
export function signedPost(
  path: keyof typeof MAX_BODY_BYTES,
  receiveRequest: RequestReceiver,
  handle: (body: Record<string, unknown>, res: Response) => Promise<void>,
): Router {
  return endpoint(path, ['POST'], async (req, res) => {
    const { body } = await receiveRequest(req, { maxBytes: MAX_BODY_BYTES[path] });
    await handle(parseJsonBody(req, body), res);
  });
}
