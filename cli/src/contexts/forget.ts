import type { Invocation } from '../invocation.ts';
import { printDone } from '../output/print.ts';
import { say } from '../output/say.ts';
import type { ContextStore, KeptContext } from './context-store.ts';

/** Forgets a login on this machine, and says what became of it. Under `--dry-run` nothing is forgotten. */
export async function forget(
  invocation: Invocation,
  store: ContextStore,
  { name, kind, baseUrl }: Pick<KeptContext, 'name' | 'kind' | 'baseUrl'>,
): Promise<void> {
  if (invocation.flags.dryRun === true)
    return printDone(invocation, { said: `${name} would be forgotten here`, name });
  const left = await store.remove(name);
  const what =
    kind === 'agent' ? `${name} and its sealing key are forgotten here` : `${name} is forgotten here`;
  printDone(invocation, { said: what, name, answer: { name, kind, baseUrl } });
  if (left !== undefined)
    say(invocation, `its secrets are still in the system’s keychain, which does not open (${left})`);
}
