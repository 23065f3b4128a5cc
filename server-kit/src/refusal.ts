import { randomUUID } from 'node:crypto';
import { AppError } from '@svault/shared';
import { isStorageFailure } from './sqlite.ts';
import { StorageFailure } from './storage-failure.ts';

/** Seconds after which a caller may try again when the database refused a write. */
const STORAGE_RETRY_SECONDS = 5;

/** What a caller is told of an error, and nothing else of it. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What a server answers with. */
export interface RefusalCodes<Code extends string> {
  /** The server's exhaustive table from code to status. */
  readonly statusOf: Readonly<Record<Code, number>>;
  /** For a database that is full, busy or failing. */
  readonly storageFailure: Code;
  /** For everything that nobody foresaw. */
  readonly internal: Code;
}

/**
 * Reads what is to be answered out of any error.
 *
 * - {@link AppError} → its status, message and details.
 * - a database that is away, full, busy or failing → `storageFailure` with `retryAfter`: nothing was changed.
 * - anything else → a fixed 500 with a request id, under which the log has to hold what happened.
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
      const message = 'the database cannot take this now; try again';
      const details = { retryAfter: STORAGE_RETRY_SECONDS };
      return { status: statusOf[storageFailure], code: storageFailure, message, details };
    }
    if (isUriError(error)) {
      return { status: 400, code: 'INVALID_REQUEST', message: 'the path is not valid', details: {} };
    }
    const details = { requestId: randomUUID() };
    return { status: 500, code: internal, message: 'something went wrong on our side', details };
  };
}

/** The members of a refusal's body. `allow` is a header's alone. */
export function refusalBody({ message, code, details }: Refusal): Readonly<Record<string, unknown>> {
  const { allow: _allow, ...shown } = details;
  return { error: message, code, ...shown };
}

/** Express's router throws this for a path parameter whose percent-encoding is broken. */
const isUriError = (error: unknown): boolean => error instanceof URIError;
