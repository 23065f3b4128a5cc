const REDACTED = '[redacted]';

/**
 * A value that does not print: string conversion, JSON and `util.inspect` (so `console.log` and loggers too) give
 * `[redacted]`, and there is no enumerable property to find. Reading takes {@link Secret.reveal}, which a reviewer
 * can search for.
 */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself. Every call is a place where the secret can leak. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** `util.inspect.custom`, by its registered symbol so that this file needs nothing of Node. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}
