import type { ActingLogin } from '../../contexts/acting-login.ts';
import type { ContextStore } from '../../contexts/context-store.ts';
import type { KeptContext } from '../../contexts/context.ts';
import { Failure } from '../../failure.ts';
import { showInstead } from '../../http/dry-run.ts';
import { type OutgoingRequest, send } from '../../http/send.ts';
import { refusalOf } from '../../http/refusal.ts';
import type { Invocation } from '../../invocation.ts';
import { printDone } from '../../output/print.ts';
import { say } from '../../output/say.ts';

/**
 * Ends the session of a login at its control plane. An admin key does not end with it, nor does an agent's.
 * @returns why the session goes on there; undefined where it has ended. Under `--dry-run` the request is shown
 */
export async function endSession(
  invocation: Pick<Invocation, 'terminal' | 'signal' | 'flags'>,
  login: ActingLogin,
): Promise<string | undefined> {
  const request: OutgoingRequest = { method: 'POST', url: new URL(`${login.context.baseUrl}/api/logout`) };
  if (invocation.flags.dryRun === true) {
    showInstead(invocation, request);
    return undefined;
  }
  try {
    const answer = await send(invocation, { ...request, authorization: await login.authorization() });
    const isOver = answer.status === 204 || answer.status === 401;
    return isOver ? undefined : refusalOf(answer, request.url).message;
  } catch (error) {
    if (!(error instanceof Failure) || invocation.signal.aborted) throw error;
    // An expired session cannot be renewed.
    return error.exit === 'denied' ? undefined : error.message;
  }
}

/** Forgets a login on this machine, and says what became of it. Under `--dry-run` nothing is forgotten. */
export async function forget(
  invocation: Invocation,
  store: ContextStore,
  { name, kind, baseUrl }: Pick<KeptContext, 'name' | 'kind' | 'baseUrl'>,
): Promise<void> {
  if (invocation.flags.dryRun === true)
    return printDone(invocation, { said: `${name} would be removed from this machine`, name });
  const left = await store.remove(name);
  const what =
    kind === 'agent'
      ? `${name} and its sealing key are removed from this machine`
      : `${name} is removed from this machine`;
  printDone(invocation, { said: what, name, answer: { name, kind, baseUrl } });
  if (left !== undefined)
    say(invocation, `its secrets are still in the system’s keychain, which does not open (${left})`);
}
