import { EXIT_CODES, type ExitName } from './exit-codes.ts';

/**
 * Why a command could not do what it was asked. `message` is one line for a person, without a stack and without a secret;
 * it says what to do next where that is not plain.
 */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exit: ExitName;
  /** Code of the service or the webhook, which `svault explain` explains. */
  readonly code: string | undefined;

  constructor(
    exit: ExitName,
    message: string,
    { code, ...options }: ErrorOptions & { readonly code?: string } = {},
  ) {
    super(message, options);
    this.exit = exit;
    this.code = code;
  }

  get exitCode(): number {
    return EXIT_CODES[this.exit].code;
  }
}

/** A command line that cannot be meant as it is; the message says what would be right. */
export const usage = (message: string): Failure => new Failure('usage', message);
