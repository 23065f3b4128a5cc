/** A command line that cannot be meant as it is; the message says what would be right. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
