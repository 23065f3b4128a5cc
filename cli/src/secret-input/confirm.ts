import type { Invocation } from '../invocation.ts';

/**
 * Asks a person whether to go on; `--yes` answers for them, and so does `--dry-run`.
 * @throws Failure usage where nobody can be asked; interrupted for no and for Ctrl-C
 */
export async function confirm(
  invocation: Invocation,
  question: string,
  options: { readonly yes?: boolean | undefined },
): Promise<void> {
  throw new Error(`not built: ${question} ${options.yes} ${Object.keys(invocation).length}`);
}
