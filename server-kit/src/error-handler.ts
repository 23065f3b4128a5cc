import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler, Response } from 'express';
import { AppError } from '@svault/shared';
import type { Logger } from './logger.ts';
import { isStorageFailure } from './sqlite.ts';

/** Seconds after which a caller may try again when the database refused a write. */
const STORAGE_RETRY_SECONDS = 5;

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * The one place where errors become answers.
 *
 * - {@link AppError} → its status and `{ error, code, …details }`; `details.retryAfter` is also the `Retry-After`
 *   header, `details.allow` the `Allow` header (and stays out of the body).
 * - a database that is full, busy or failing → `storageFailure` with `Retry-After`: nothing was changed.
 * - anything else → a fixed 500 with a request id; what happened stands in the log under that id.
 *
 * @param statusOf the server's exhaustive table from code to status
 */
export function errorHandler<Code extends string>(options: {
  readonly statusOf: Readonly<Record<Code, number>>;
  readonly storageFailure: Code;
  readonly internal: Code;
  readonly logger: Logger;
}): ErrorRequestHandler {
  const { statusOf, logger } = options;
  return (error: unknown, req, res, _next) => {
    const refusal = toRefusal(error);
    const request = { method: req.method, path: req.path, code: refusal.code };
    if (refusal.status >= 500) logger.error({ ...request, ...refusal.details, err: error }, 'request failed');
    else logger.debug({ ...request, reason: reasonOf(error) }, 'request refused');
    if (res.headersSent) return void res.destroy();
    sendRefusal(res, refusal);
  };

  function isOurs(error: unknown): error is AppError<Code> {
    return error instanceof AppError && Object.hasOwn(statusOf, String(error.code));
  }

  function toRefusal(error: unknown): Refusal {
    if (isOurs(error)) {
      return {
        status: statusOf[error.code],
        code: error.code,
        message: error.message,
        details: error.details ?? {},
      };
    }
    if (isStorageFailure(error)) {
      const code = options.storageFailure;
      const details = { retryAfter: STORAGE_RETRY_SECONDS };
      return {
        status: statusOf[code],
        code,
        message: 'the database cannot take this now; try again',
        details,
      };
    }
    if (isUriError(error)) {
      return { status: 400, code: 'INVALID_REQUEST', message: 'the path is not valid', details: {} };
    }
    const details = { requestId: randomUUID() };
    return { status: 500, code: options.internal, message: 'something went wrong on our side', details };
  }
}

/** The precise cause of a refusal, which the answer keeps to itself. */
const reasonOf = (error: unknown): string | undefined =>
  error instanceof AppError ? error.reason : undefined;

/** Express's router throws this for a path parameter whose percent-encoding is broken. */
const isUriError = (error: unknown): boolean => error instanceof URIError;

/** How long a refused client may go on sending before the connection is torn down. */
const LINGER_MS = 1_000;

/** Writes a refusal as JSON; a body that was too large is not read to its end, so the connection goes. */
function sendRefusal(res: Response, { status, code, message, details }: Refusal): void {
  const { allow, ...shown } = details;
  if (typeof allow === 'string') res.setHeader('Allow', allow);
  if (typeof shown['retryAfter'] === 'number') res.setHeader('Retry-After', String(shown['retryAfter']));
  const unread = !res.req.complete;
  if (status === 413 || unread) res.setHeader('Connection', 'close');
  const body = JSON.stringify({ error: message, code, ...shown });
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  if (unread) endWhenReceived(res, body);
  else res.end(body);
}

/**
 * Answers a request that is still on its way. What comes is dropped for a moment, then the connection goes: tearing
 * it down at once would make the client's system throw the answer away unread (RFC 9112 section 9.6).
 */
function endWhenReceived(res: Response, body: string): void {
  res.write(body);
  const end = (): void => {
    clearTimeout(teardown);
    res.end();
  };
  const teardown = setTimeout(end, LINGER_MS);
  res.req.once('end', end).once('close', end).resume();
}
