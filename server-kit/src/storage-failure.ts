/** The database could not take the work for a passing reason: it is unreachable, full, or locked. */
export class StorageFailure extends Error {
  override readonly name = 'StorageFailure';
}
