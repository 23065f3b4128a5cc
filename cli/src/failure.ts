import { EXIT_CODES, type ExitName } from './exit-codes.ts';
import { plainLine } from './output/plain-line.ts';

/**
 * Why a command could not do what it was asked. `message` is one line for a person, without a stack and without a secret;
 * it says what to do next where that is not plain.
 */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exit: ExitName;
  /** Code of the service or the webhook, which `svault explain` explains. */
  readonly code: string | undefined;
  /** After how many seconds whoever refused wants to be asked again, where it said so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    exit: ExitName,
    message: string,
    {
      code,
      retryAfterSeconds,
      ...options
    }: ErrorOptions & {
      readonly code?: string | undefined;
      readonly retryAfterSeconds?: number | undefined;
    } = {},
  ) {
    super(message, options);
    this.exit = exit;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  get exitCode(): number {
    return EXIT_CODES[this.exit].code;
  }
}

/** What a person reads of it: one line, which names where a code is explained, and is harmless whoever wrote parts of it. */
export const failureLine = ({ message, code }: Failure): string =>
  `error: ${plainLine(message)}${code === undefined ? '' : ` [${code}: svault explain ${code}]`}\n`;

/** A command line that cannot be meant as it is; the message says what would be right. */
export const usage = (message: string): Failure => new Failure('usage', message);
