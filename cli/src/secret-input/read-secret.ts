import type { Invocation } from '../invocation.ts';

/** Where a secret may come from. */
export interface SecretSource {
  /** What is asked for, such as "Secret of github". */
  readonly question: string;
  /** `-`: stdin. */
  readonly file?: string | undefined;
  /** From the command line, with a warning. */
  readonly argument?: string | undefined;
}

/**
 * Reads a secret: from the file, else from stdin where that is no terminal, else by a prompt without echo. One line break at the
 * end of a file or of stdin is not part of it.
 *
 * @throws Failure usage for none, two sources, or more than 64 KiB; interrupted for Ctrl-C at the prompt
 */
export async function readSecret(invocation: Invocation, source: SecretSource): Promise<string> {
  throw new Error(`not built: ${source.question} ${Object.keys(invocation).length}`);
}
