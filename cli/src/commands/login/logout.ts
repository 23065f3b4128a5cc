import { chosenContext, environmentLogin, notSignedIn } from '../../contexts/acting-login.ts';
import { keptLogin } from '../../contexts/kept-login.ts';
import { localContextStore } from '../../contexts/context-store.ts';
import type { ContextSecrets } from '../../contexts/context.ts';
import { orElse, usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { say } from '../../output/say.ts';
import { endSession, forget } from './end-login.ts';

/** `logout` */
export const logout: Run = async (invocation) => {
  if (invocation.flags.ctx === undefined && environmentLogin(invocation) !== undefined)
    throw usage('SVAULT_KEY is set, and it is not a stored login: unset it, or name a login by --context');
  const store = await localContextStore(invocation);
  const context = await chosenContext(invocation, store);
  if (context === undefined) throw await notSignedIn(invocation, store);
  // Secrets that are gone, or cannot be reached, end nothing; the login is forgotten all the same.
  const secrets = await orElse<ContextSecrets | undefined>(store.secretsOf(context), () => undefined);
  const isSession = secrets?.kind === 'session';
  const left = isSession ? await endSession(invocation, keptLogin(invocation, store, context)) : undefined;
  await forget(invocation, store, context);
  const { host } = new URL(context.baseUrl);
  if (left !== undefined)
    say(invocation, `its session at ${host} could not be ended and stays valid until it expires (${left})`);
  else if (!isSession) say(invocation, `its key stays valid at ${host} until an admin revokes it`);
};
