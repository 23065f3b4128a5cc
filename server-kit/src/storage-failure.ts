/**
 * The database could not take the work now, for a reason that passes: it is away, full, or somebody holds what the work
 * needs. Nothing is wrong with the work.
 */
export class StorageFailure extends Error {
  constructor(message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.name = 'StorageFailure';
  }
}
