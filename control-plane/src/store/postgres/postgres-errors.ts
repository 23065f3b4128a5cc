import { StorageFailure } from '@svault/server-kit/storage-failure';
import pg from 'pg';

/**
 * What says that the database cannot take the work now (PostgreSQL's appendix "Error Codes"), by class or as a whole:
 * connection, resources (disk, memory, connections), an operator's intervention (shutdown, a statement that took too
 * long), its system; a lock that somebody holds, a server that only reads, a transaction that idled, one that was
 * chosen to end a deadlock.
 */
const UNAVAILABLE = /^(08|53|57|58|40)|^(55P03|25006|25P03|25P04)$/;

/** Another transaction came in between: the same work, begun anew, finds what that one left. */
const CAME_BETWEEN = new Set(['23505', '40001', '40P01']);

/** Every error of a statement as callers are to see it: {@link StorageFailure} where it is not the statement's fault. */
export function fromStatement(error: unknown): Error {
  if (error instanceof pg.DatabaseError)
    return UNAVAILABLE.test(error.code ?? '') ? unavailable(error) : error;
  // What the driver throws by itself is about the connection; what JavaScript throws is a mistake of ours.
  if (error instanceof Error && error.constructor !== Error) return error;
  return unavailable(error);
}

/** Every error of connecting, a wrong password too: it was right when the service started. */
export const fromConnecting = (error: unknown): StorageFailure => unavailable(error);

/** Whether a statement failed, or a connection with all that was under way on it. */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && !/^(08|57P)/.test(error.code ?? '');

/**
 * Whether the statement's connection ended under it, by the server's will or by the network's; one that was given up for
 * its silence, or never came about, is none of these.
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

/** Whether work that failed is worth beginning anew. */
export function cameBetween(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error;
  return cause instanceof pg.DatabaseError && CAME_BETWEEN.has(cause.code ?? '');
}

/** The cause's own words, which never hold a password; some errors of the network have a code only. */
function unavailable(cause: unknown): StorageFailure {
  const { message = '', code = '' } = cause as { readonly message?: string; readonly code?: string };
  return new StorageFailure(`PostgreSQL: ${message === '' ? code : message}`, { cause });
}
