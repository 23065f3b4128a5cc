import { Failure } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import type { ContextStore, KeptContext } from './context-store.ts';
import { unknownContext } from './local-context-store.ts';

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
  if (found === undefined && named !== undefined) throw unknownContext(named, contexts);
  return found;
}

/** The name that `--context` or SVAULT_CONTEXT says. */
export function chosenName({ flags, env }: Pick<Invocation, 'flags' | 'env'>): string | undefined {
  const { SVAULT_CONTEXT: fromEnvironment = '' } = env;
  return flags.ctx ?? (fromEnvironment === '' ? undefined : fromEnvironment);
}

/** Where nobody is meant. */
export async function nobodySignedIn(store: Pick<ContextStore, 'list'>): Promise<Failure> {
  const { contexts } = await store.list();
  return new Failure(
    'denied',
    contexts.length === 0
      ? 'nobody is signed in: svault login'
      : `no login is the current one: svault use NAME (${contexts.map(({ name }) => name).join(', ')})`,
  );
}
