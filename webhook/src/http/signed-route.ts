import { type Response, Router } from 'express';
import { only, route } from '@svault/server-kit/request-handler';
import type { RequestReceiver } from './authenticate-request.ts';
import { MAX_BODY_BYTES, parseJsonBody } from './body.ts';

/** A signed `POST` endpoint: authenticates the request and parses its JSON before `handle` responds. */
export function signedPost(
  path: keyof typeof MAX_BODY_BYTES,
  receiveRequest: RequestReceiver,
  handle: (body: Record<string, unknown>, res: Response) => Promise<void>,
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    path,
    only(['POST']),
    route(async (req, res) => {
      const { body } = await receiveRequest(req, { maxBytes: MAX_BODY_BYTES[path] });
      await handle(parseJsonBody(req, body), res);
    }),
  );
  return router;
}
