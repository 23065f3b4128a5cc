import { usage } from '../failure.ts';
import { Interrupted } from '../interrupted.ts';
import type { Invocation } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';
import { say } from '../output/say.ts';
import { askLine } from './ask-line.ts';

/**
 * Asks a person whether to go on; `--yes` answers for them, and so does `--dry-run`.
 * @throws Failure usage where nobody can be asked; interrupted for no and for Ctrl-C
 */
export async function confirm(
  invocation: Invocation,
  question: string,
  { yes }: { readonly yes?: boolean | undefined },
): Promise<void> {
  if (yes === true || invocation.flags.dryRun === true) return;
  const shown = plainLine(question);
  const { interactive } = invocation.terminal;
  if (!interactive.in || !interactive.err)
    throw usage(`“${shown}” has to be answered, and nobody sits here who could: --yes`);
  const answer = await askLine(invocation, `${shown} [y/N]`);
  if (/^y(es)?$/i.test(answer.trim())) return;
  say(invocation, 'nothing was done');
  throw new Interrupted();
}
