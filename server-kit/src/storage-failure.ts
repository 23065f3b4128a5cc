/**
 * The database could not take the work for a passing reason: it is unreachable, full, or locked.
 */
export class StorageFailure extends Error {
  constructor(message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.name = 'StorageFailure';
  }
}
