import { Failure, usage } from '../failure.ts';
import { parseBaseUrl } from '../http/service-address.ts';
import type { Invocation } from '../invocation.ts';
import { say } from '../output/say.ts';
import { ENVIRONMENT_NAME } from './context-name.ts';
import { exportsOfPairHere } from './pair-here.ts';
import type { ContextStore } from './context-store.ts';
import type { Context, KeptContext, KeySecrets } from './context.ts';
import { kindOfKey, problemOfKey, shownKey } from './key-form.ts';

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
 * @throws Failure usage for a name that there is not, or a SVAULT_… that is malformed; denied where no login exists
 */
export async function actingLogin(
  invocation: Invocation,
  { renews = true }: { readonly renews?: boolean } = {},
): Promise<ActingLogin> {
  const login = invocation.flags.ctx === undefined ? environmentLogin(invocation) : undefined;
  if (login !== undefined) {
    const { SVAULT_CONTEXT: unused = '' } = invocation.env;
    if (unused !== '')
      say(
        invocation,
        `SVAULT_KEY is set and SVAULT_CONTEXT=${unused} is not used: unset one, or give --context`,
      );
    return login;
  }
  // What a login of the environment never needs takes a tenth of a start.
  const [{ localContextStore }, { keptLogin }] = await Promise.all([
    import('./context-store.ts'),
    import('./kept-login.ts'),
  ]);
  const store = await localContextStore(invocation);
  const context = await chosenContext(invocation, store);
  if (context === undefined) throw await notSignedIn(invocation, store);
  return keptLogin(invocation, renews ? store : { ...store, replaceSecrets: notRenewed }, context);
}

/** What is interrupted may have been renewed at the control plane and not here: then the session would be lost. */
const notRenewed = (): Promise<never> =>
  Promise.reject(new Failure('denied', 'the session has to be renewed first'));

/**
 * The login that is kept and meant: by `--context`, else by SVAULT_CONTEXT, else the current one.
 * @returns undefined where none is the current one
 * @throws Failure usage for a name that there is not
 */
export async function chosenContext(
  invocation: Pick<Invocation, 'flags' | 'env'>,
  store: Pick<ContextStore, 'list'>,
): Promise<KeptContext | undefined> {
  const { contexts, current } = await store.list();
  const named = chosenName(invocation);
  const found = contexts.find(({ name }) => name === (named ?? current));
  if (found !== undefined || named === undefined) return found;
  throw (await import('./context-store.ts')).unknownContext(named, contexts);
}

/** The name that `--context` or SVAULT_CONTEXT says. */
export function chosenName({ flags, env }: Pick<Invocation, 'flags' | 'env'>): string | undefined {
  const { SVAULT_CONTEXT: fromEnvironment = '' } = env;
  return flags.ctx ?? (fromEnvironment === '' ? undefined : fromEnvironment);
}

/** The failure of a command that has no login to act with. */
export async function notSignedIn(
  invocation: Pick<Invocation, 'env'>,
  store: Pick<ContextStore, 'list'>,
): Promise<Failure> {
  const { contexts } = await store.list();
  const exports = await exportsOfPairHere(invocation);
  const orOwner =
    exports === undefined ? '' : `; or act as the owner of the pair that npm start made here: ${exports}`;
  return new Failure(
    'denied',
    contexts.length === 0
      ? `nobody is signed in: svault login --base-url URL${orOwner}`
      : `no login is the current one: svault use NAME (${contexts.map(({ name }) => name).join(', ')})`,
  );
}

/**
 * The login of a machine: SVAULT_KEY with SVAULT_BASE_URL. Neither is kept.
 * @returns undefined without SVAULT_KEY
 * @throws Failure usage where one of the two is missing or malformed; an empty key too, since to go on with another
 *   login is not what a script meant whose key did not arrive
 */
export function environmentLogin({ env }: Pick<Invocation, 'env'>): ActingLogin | undefined {
  const { SVAULT_KEY: key, SVAULT_BASE_URL: address } = env;
  if (key === undefined) return undefined;
  const kind = kindOfKey(key);
  if (kind === undefined) throw usage(`SVAULT_KEY ${problemOfKey(key)}; unset it to act with a login`);
  if (address === undefined || address === '')
    throw usage(
      'SVAULT_KEY needs SVAULT_BASE_URL, the address of the control plane that issued the key: export SVAULT_BASE_URL=https://…',
    );
  const common = { name: ENVIRONMENT_NAME, baseUrl: parseBaseUrl(address) };
  const context: Context =
    kind === 'agent' ? { ...common, kind, keyPrefix: shownKey(key) } : { ...common, kind, email: '' };
  return {
    context,
    rememberedAs: () => nameOfKey(key),
    authorization: async () => `Bearer ${key}`,
    renewed: async () => undefined,
    sealingKey: async () => undefined,
  };
}

/**
 * One name per key, since another key at the same control plane may be of another account, with another webhook. The control
 * plane cannot choose it, as it could an account's id. A key has 256 random bits, so its hash gives nothing away.
 */
async function nameOfKey(key: string): Promise<string> {
  const { hash } = await import('node:crypto');
  return `${ENVIRONMENT_NAME}:${hash('sha256', `svault key ${key}`, 'base64url')}`;
}

/** Says that commands will not act with the login that was just chosen, where the environment says otherwise. */
export function warnOfEnvironment(invocation: Invocation, name: string): void {
  const { SVAULT_KEY: key, SVAULT_CONTEXT: chosen = '' } = invocation.env;
  if (key !== undefined) say(invocation, 'SVAULT_KEY is set: commands act with it until it is unset');
  else if (chosen !== '' && chosen !== name)
    say(invocation, `SVAULT_CONTEXT is set: commands act with ${chosen} until it is unset`);
}
