import type { Request, RequestHandler, Response } from 'express';
import { methodNotAllowed } from '@svault/server-kit/request-handler';
import { traceRoute } from '@svault/server-kit/tracing';
import type { RequestReceiver } from './authenticate-request.ts';
import { MAX_BODY_BYTES, parseJsonBody } from './body.ts';

/**
 * One endpoint, which answers these methods alone: HEAD, too, is rejected, so that it consumes nothing. A path is compared
 * as it was sent, with nothing decoded.
 *
 * @param around gets the handler of every method, and returns the one to be called
 */
export function endpoint(
  path: string,
  methods: readonly string[],
  handle: (req: Request, res: Response) => Promise<void> | void,
  around: (handler: RequestHandler) => RequestHandler = (handler) => handler,
): RequestHandler {
  const refuse = methodNotAllowed(methods);
  const answer = around((req, res, next) =>
    methods.includes(req.method) ? handle(req, res) : refuse(req, res, next),
  );
  // Not Express's router and route, whose matching costs as much as a ticket.
  return (req, res, next) => {
    if (req.path !== path) return next();
    traceRoute(req, path);
    return answer(req, res, next);
  };
}

/** A signed `POST` endpoint: authenticates the request and parses its JSON before `handle` responds. */
export function signedPost(
  path: keyof typeof MAX_BODY_BYTES,
  receiveRequest: RequestReceiver,
  handle: (body: Record<string, unknown>, res: Response) => Promise<void>,
): RequestHandler {
  return endpoint(path, ['POST'], async (req, res) => {
    const { body } = await receiveRequest(req, { maxBytes: MAX_BODY_BYTES[path] });
    await handle(parseJsonBody(req, body), res);
  });
}
