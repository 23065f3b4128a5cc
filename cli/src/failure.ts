import { plainLine } from './output/plain-line.ts';

/**
 * Why a command could not do what it was asked. `message` is one line for a person, without a stack and without a secret;
 * it says what to do next where that is not plain.
 */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exit: ExitName;
  /** Code of the control plane or the webhook, which `svault explain` explains. */
  readonly code: string | undefined;
  /** Seconds after which the sender of the error allows a new request, where it says so. */
  readonly retryAfterSeconds: number | undefined;
  /** Nothing that svault knows answered: the address may be another program's. */
  readonly isOfAddress: boolean;
  /** What does not fit, by its place in the request, where the failure is about nothing else. */
  readonly issues: readonly Issue[];
  /** Of what a person has to approve first, where one can be asked for. */
  readonly approval: OpenApproval | undefined;

  constructor(
    exit: ExitName,
    message: string,
    options: ErrorOptions & {
      readonly code?: string | undefined;
      readonly retryAfterSeconds?: number | undefined;
      readonly isOfAddress?: boolean;
      readonly issues?: readonly Issue[];
      readonly approval?: OpenApproval | undefined;
    } = {},
  ) {
    super(message, options);
    this.exit = exit;
    this.code = options.code;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.isOfAddress = options.isOfAddress ?? false;
    this.issues = options.issues ?? [];
    this.approval = options.approval;
  }

  get exitCode(): number {
    return EXIT_CODES[this.exit].code;
  }

  /** The same, with more to say of it. */
  saying(message: string, exit = this.exit): Failure {
    const { code, retryAfterSeconds, isOfAddress, approval } = this;
    return new Failure(exit, message, { code, retryAfterSeconds, isOfAddress, approval, cause: this });
  }
}

/** What waits for a person's decision, or was denied. */
export interface OpenApproval {
  readonly id: string;
  readonly status: string;
  /** Where it is decided. */
  readonly url: string;
}

/** A member of a request that does not fit. */
export interface Issue {
  /** Dotted, such as `allowedHosts.0`; '' for the request as a whole. */
  readonly path: string;
  readonly message: string;
}

/** What a call gives, or what is made of its failure, which may be thrown as another one. */
export const orElse = <T>(call: Promise<T>, otherwise: (failure: Failure) => T): Promise<T> =>
  call.catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    return otherwise(error);
  });

/**
 * The text for a person: one line that names where its code is explained, harmless even where another machine wrote parts of
 * it.
 */
export const failureLine = ({ message, code }: Failure): string =>
  `error: ${plainLine(message)}${code === undefined ? '' : ` [${code}: svault explain ${code}]`}\n`;

/** A command line that cannot be meant as it is; the message says what would be right. */
export const usage = (message: string): Failure => new Failure('usage', message);

/** Refused or failed, in a way that no other exit code names. */
export const failed = (message: string, cause?: unknown): Failure =>
  new Failure('failed', message, { cause });

/** The vault, the control plane, the webhook or what it runs on is not to be had now. */
export const unavailable = (message: string, cause?: unknown): Failure =>
  new Failure('unavailable', message, { cause });

/**
 * Every exit code of the client. 6 and 7 are the specification's ("CLI exit codes"); scripts depend on the others as
 * well, so a number never gets another meaning.
 */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'done' },
  failed: { code: 1, meaning: 'refused or failed, in a way that no other code names' },
  usage: { code: 2, meaning: 'a wrong command line: unknown command or flag, missing or ambiguous argument' },
  denied: { code: 3, meaning: 'not signed in, or not allowed' },
  notFound: { code: 4, meaning: 'there is no such thing, or no grant for it' },
  unavailable: {
    code: 5,
    meaning: 'the vault is locked, or the control plane or the webhook does not answer',
  },
  empty: { code: 6, meaning: 'the credential has no value (get --check)' },
  rateLimited: { code: 7, meaning: 'too many requests (HTTP 429), after the retries' },
  differs: {
    code: 8,
    meaning: 'a check found a difference (policies diff and test, audit verify and compare, doctor)',
  },
  interrupted: { code: 130, meaning: 'ended by Ctrl-C' },
} as const;

export type ExitName = keyof typeof EXIT_CODES;

/** The table that `--help` ends with. */
export function exitCodeTable(): string {
  return [
    'Exit codes:',
    ...Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padStart(3)}  ${meaning}`),
  ].join('\n');
}

/** A person said no, or Ctrl-C, where they were asked: the command ends, and nothing is left to be said. */
export class Interrupted extends Failure {
  constructor() {
    super('interrupted', 'interrupted');
  }
}

/** A command that svault started has ended: svault ends in the same way, and has nothing to say of it. */
export class CommandEnded extends Error {
  override readonly name = 'CommandEnded';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the command ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}
