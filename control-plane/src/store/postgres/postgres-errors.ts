import { DiskFull, StorageFailure } from '@svault/server-kit/storage-failure';
import pg from 'pg';

/**
 * Codes of a database that cannot take the work now (PostgreSQL's appendix "Error Codes"), by class or whole: connection,
 * resources (disk, memory, connections), an operator's intervention (shutdown, statement timeout), system; lock timeout,
 * read-only server, idle transaction, deadlock victim.
 */
const UNAVAILABLE = /^(08|53|57|58|40)|^(55P03|25006|25P03|25P04)$/;

const DISK_FULL = '53100';

/** A conflict with another transaction: the same work, run again, reads what that one wrote. */
const CONFLICTS = new Set(['23505', '40001', '40P01']);

/** The error of a statement for its caller: {@link StorageFailure} where the statement is not at fault. */
export function fromStatement(error: unknown): Error {
  if (error instanceof pg.DatabaseError)
    return UNAVAILABLE.test(error.code ?? '') ? unavailable(error) : error;
  // The driver's own errors are about the connection; JavaScript's are bugs.
  if (error instanceof Error && error.constructor !== Error) return error;
  return unavailable(error);
}

/** The error of connecting, even by a wrong password: it was right when the control plane started. */
export const fromConnecting = (error: unknown): StorageFailure => unavailable(error);

/** Whether the statement failed, and not its connection. */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && !/^(08|57P)/.test(error.code ?? '');

/**
 * Whether the server or the network ended the statement's connection; false for a connection that timed out or was never
 * opened.
 */
export function connectionEnded(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : undefined;
  if (cause instanceof pg.DatabaseError) return /^57P0[12]$/.test(cause.code ?? '');
  if (!(cause instanceof Error)) return false;
  return (
    cause.message.startsWith('Connection terminated unexpectedly') ||
    ('code' in cause && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE'))
  );
}

/** Whether another transaction's locks ended this one: it waited too long, or each waited for the other. */
export function isOfLocks(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error;
  return cause instanceof pg.DatabaseError && (cause.code === '55P03' || cause.code === '40P01');
}

/** Whether work failed by a conflict and is worth running again. */
export function isConflict(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error;
  return cause instanceof pg.DatabaseError && CONFLICTS.has(cause.code ?? '');
}

/** The message of the cause, which never has a password; some errors of the network have only a code. */
function unavailable(cause: unknown): StorageFailure {
  const { message = '', code = '' } = cause as { readonly message?: string; readonly code?: string };
  const text = `PostgreSQL: ${message === '' ? code : message}`;
  return code === DISK_FULL ? new DiskFull(text, { cause }) : new StorageFailure(text, { cause });
}
