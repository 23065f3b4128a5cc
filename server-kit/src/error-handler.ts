import { AppError } from '@svault/shared';
import type { ErrorRequestHandler, Response } from 'express';
import type { Logger } from './logger.ts';
import { requestIdOf } from './request-id.ts';
import { JSON_CONTENT, respond } from './respond.ts';
import { isDiskFull, isStorageFailure } from './sqlite.ts';
import { DiskFull, StorageFailure } from './storage-failure.ts';
import { traceCode } from './tracing.ts';

/**
 * Responds to every error with what {@link createRefusalReader} returns for it, as `{ error, code, …details, requestId }`.
 * `details.retryAfter` is also the `Retry-After` header; `details.allow` is the `Allow` header alone. The log has the reason.
 *
 * @param options.uniform codes whose body is the same for every request, so that it is without the request's id
 */
export function errorHandler<Code extends string>(
  options: RefusalCodes<Code> & {
    readonly logger: Logger;
    readonly uniform?: readonly Code[];
    /** Codes whose cause is outside of the program, so that the log has their text as a warning, and no stack. */
    readonly warned?: readonly Code[];
    /** Without it, browsers get JSON as well. */
    readonly sendPage?: SendErrorPage;
  },
): ErrorRequestHandler {
  const { logger, sendPage = () => false } = options;
  const uniform: readonly string[] = options.uniform ?? [];
  const warned: readonly string[] = options.warned ?? [];
  const refusalOf = createRefusalReader(options);
  return (error: unknown, req, res, _next) => {
    const refusal = refusalOf(error);
    // The precise cause, for the log alone.
    const reason = error instanceof AppError ? error.reason : undefined;
    traceCode(req, refusal.code);
    const requestId = requestIdOf(req);
    const request = { requestId, method: req.method, path: req.path, code: refusal.code };
    if (warned.includes(refusal.code))
      logger.warn({ ...request, reason, why: refusal.message }, 'request refused');
    else if (refusal.status >= 500)
      logger.error({ ...request, ...refusal.details, err: error }, 'request failed');
    else logger.debug({ ...request, reason }, 'request refused');
    if (res.headersSent) return void res.destroy();
    const further = uniform.includes(refusal.code) ? {} : { requestId };
    sendRefusal(res, { ...refusal, details: { ...refusal.details, ...further } }, sendPage);
  };
}

/** Sends an error as a page to who looks at it in a browser. @returns false where it did not, so that JSON is sent */
export type SendErrorPage = (res: Response, refusal: Refusal, closes: boolean) => boolean;

/** A body that is too large is not read to its end, so the connection closes. */
function sendRefusal(res: Response, refusal: Refusal, sendPage: SendErrorPage): void {
  const { status, details } = refusal;
  const { allow, retryAfter } = details;
  if (typeof allow === 'string') res.setHeader('Allow', allow);
  if (typeof retryAfter === 'number') res.setHeader('Retry-After', String(retryAfter));
  const closes = status === 413 || !res.req.complete;
  if (sendPage(res, refusal, closes)) return;
  respond(res, { status, headers: JSON_CONTENT, body: JSON.stringify(refusalBody(refusal)), closes });
}

/** After which a caller may try again when the database refused a write. */
const STORAGE_RETRY_SECONDS = 5;

/** The part of an error that its caller sees. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The error codes of a server. */
export interface RefusalCodes<Code extends string> {
  /** The server's exhaustive table from code to status. */
  readonly statusOf: Readonly<Record<Code, number>>;
  /** For a database that is full, busy or failing. */
  readonly storageFailure: Code;
  /** For unexpected errors. */
  readonly internal: Code;
}

/**
 * Maps any error to the response:
 *
 * - {@link AppError} → its status, message and details.
 * - a database that is unreachable, full, busy or failing → `storageFailure` with `retryAfter`: nothing was changed.
 * - anything else → a fixed 500; the log has the error under the request's id.
 */
export function createRefusalReader<Code extends string>(
  codes: RefusalCodes<Code>,
): (error: unknown) => Refusal {
  const { statusOf, storageFailure, internal } = codes;
  const isOurs = (error: unknown): error is AppError<Code> =>
    error instanceof AppError && Object.hasOwn(statusOf, String(error.code));

  return (error) => {
    if (isOurs(error)) {
      const { code, message, details = {} } = error;
      return { status: statusOf[code], code, message, details };
    }
    if (error instanceof StorageFailure || isStorageFailure(error)) {
      const message =
        error instanceof DiskFull || isDiskFull(error)
          ? 'the disk of the database is full; try again once there is room'
          : 'the database cannot take this now; try again';
      const details = { retryAfter: STORAGE_RETRY_SECONDS };
      return { status: statusOf[storageFailure], code: storageFailure, message, details };
    }
    // Express's router throws it for a path parameter whose percent-encoding is broken.
    if (error instanceof URIError)
      return { status: 400, code: 'INVALID_REQUEST', message: 'the path is not valid', details: {} };
    return { status: 500, code: internal, message: 'something went wrong on our side', details: {} };
  };
}

/** The members of the body. `allow` is a header alone. */
export function refusalBody({ message, code, details }: Refusal): Readonly<Record<string, unknown>> {
  const { allow: _allow, ...shown } = details;
  return { error: message, code, ...shown };
}
