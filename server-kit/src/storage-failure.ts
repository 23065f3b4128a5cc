/** The database could not take the work for a passing reason: it is unreachable, full, or locked. */
export class StorageFailure extends Error {
  override readonly name: string = 'StorageFailure';
}

/** There is no room left for the database. */
export class DiskFull extends StorageFailure {
  override readonly name = 'DiskFull';
}
