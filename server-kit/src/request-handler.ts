import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { AppError } from '@svault/shared';

/** Wraps an async handler: Express 5 passes its rejection on; this drops its value, for the rule on floating promises. */
export function route(handler: (req: Request, res: Response) => Promise<void> | void): RequestHandler {
  return async (req, res, _next) => {
    await handler(req, res);
  };
}

/** Rejects every other method, HEAD included, which a GET handler would answer. */
export const methodNotAllowed =
  (allow: readonly string[]): RequestHandler =>
  (req) =>
    rejectMethod(req, allow);

/** @throws AppError METHOD_NOT_ALLOWED */
export function rejectMethod({ method }: Pick<IncomingMessage, 'method'>, allow: readonly string[]): never {
  const value = allow.join(', ');
  throw new AppError('METHOD_NOT_ALLOWED', `${method} is not allowed here; use ${value}`, {
    details: { allow: value },
  });
}

/** Mount before routes: Express answers HEAD by the GET handler, and HEAD must consume nothing. */
export function only(methods: readonly string[]): RequestHandler {
  const refuse = methodNotAllowed(methods);
  return (req, res, next) => {
    if (methods.includes(req.method)) next();
    else refuse(req, res, next);
  };
}
