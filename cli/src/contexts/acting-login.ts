import type { Invocation } from '../invocation.ts';
import { chosenContext, nobodySignedIn } from './chosen-context.ts';
import type { Context, KeySecrets } from './context.ts';
import { environmentLogin } from './environment-login.ts';
import { keptLogin } from './kept-login.ts';
import { localContextStore } from './local-context-store.ts';

/** The login that a command acts with. */
export interface ActingLogin {
  readonly context: Context;
  /** What this machine remembers of it is kept under this name, which has no space. */
  rememberedAs(): Promise<string>;
  /** Value of `Authorization`; a session that is about to end is renewed first. @throws Failure denied */
  authorization(): Promise<string>;
  /** Another value of `Authorization` after a 401; undefined where there is no other. @throws Failure denied */
  renewed(): Promise<string | undefined>;
  /** Of an agent that has one: what its sealed credentials are opened with. */
  sealingKey(): Promise<KeySecrets['sealingKey']>;
}

/**
 * The login to act with: `--context`, else SVAULT_KEY with SVAULT_BASE_URL, else SVAULT_CONTEXT, else the current one.
 *
 * @throws Failure usage for a name that there is not, or a SVAULT_… that is malformed; denied where nobody is signed in
 */
export async function actingLogin(invocation: Invocation): Promise<ActingLogin> {
  const login = invocation.flags.ctx === undefined ? environmentLogin(invocation) : undefined;
  if (login !== undefined) return login;
  const store = await localContextStore(invocation);
  const context = await chosenContext(invocation, store);
  if (context === undefined) throw await nobodySignedIn(store);
  return keptLogin(invocation, store, context);
}
