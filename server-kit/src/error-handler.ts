import type { ErrorRequestHandler, Response } from 'express';
import { AppError } from '@svault/shared';
import type { Logger } from './logger.ts';
import { type Refusal, type RefusalCodes, createRefusalReader, refusalBody } from './refusal.ts';
import { JSON_CONTENT, respond } from './respond.ts';

/**
 * The one place where errors become answers: what {@link createRefusalReader} reads out of them, as
 * `{ error, code, …details }`. `details.retryAfter` is also the `Retry-After` header, `details.allow` the `Allow` header
 * (and stays out of the body). What the answer keeps to itself stands in the log.
 */
export function errorHandler<Code extends string>(
  options: RefusalCodes<Code> & { readonly logger: Logger },
): ErrorRequestHandler {
  const { logger } = options;
  const refusalOf = createRefusalReader(options);
  return (error: unknown, req, res, _next) => {
    const refusal = refusalOf(error);
    const request = { method: req.method, path: req.path, code: refusal.code };
    if (refusal.status >= 500) logger.error({ ...request, ...refusal.details, err: error }, 'request failed');
    else logger.debug({ ...request, reason: reasonOf(error) }, 'request refused');
    if (res.headersSent) return void res.destroy();
    sendRefusal(res, refusal);
  };
}

/** The precise cause of a refusal, which the answer keeps to itself. */
const reasonOf = (error: unknown): string | undefined =>
  error instanceof AppError ? error.reason : undefined;

/** Writes a refusal as JSON. A body that is too large is not read to its end, so the connection closes. */
function sendRefusal(res: Response, refusal: Refusal): void {
  const { status, details } = refusal;
  const { allow, retryAfter } = details;
  if (typeof allow === 'string') res.setHeader('Allow', allow);
  if (typeof retryAfter === 'number') res.setHeader('Retry-After', String(retryAfter));
  const closes = status === 413 || !res.req.complete;
  respond(res, { status, headers: JSON_CONTENT, body: JSON.stringify(refusalBody(refusal)), closes });
}
