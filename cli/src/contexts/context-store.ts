import type { Context, ContextSecrets, KeptContext } from './context.ts';
import { usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { configFolder, makeFolder, whileLocked } from './config-folder.ts';
import { type KeptContexts, contextsFile } from './contexts-file.ts';
import { keptSecrets } from './kept-secrets.ts';
import { systemKeychain } from './keychain.ts';

/** New secrets are written down though Ctrl-C was pressed: those before them may be worth nothing any more. */
const UNINTERRUPTED = new AbortController().signal;

/** The logins in this user's folder. Nothing is made before something is saved. @throws Failure usage */
export async function localContextStore(
  invocation: Pick<Invocation, 'env' | 'signal'>,
): Promise<ContextStore> {
  const folder = await configFolder(invocation);
  const file = contextsFile(folder);
  const secrets = keptSecrets(systemKeychain(invocation), folder);
  const locked = async <T>(
    name: string,
    action: () => Promise<T>,
    signal: AbortSignal | undefined = invocation.signal,
  ): Promise<T> => {
    await makeFolder(folder);
    return whileLocked({ folder, name, signal }, action);
  };
  const changing = <T>(change: (kept: KeptContexts) => Promise<T>, signal?: AbortSignal): Promise<T> =>
    locked('contexts', async () => change(await file.read()), signal);
  const writeAll = async (
    current: string | undefined,
    contexts: ReadonlyMap<string, KeptContext>,
  ): Promise<void> => {
    await file.write({ current, contexts });
    await secrets.writeFile([...contexts.values()]);
  };

  return {
    list: async () => {
      const { current, contexts } = await file.read();
      return { current, contexts: inOrder(contexts) };
    },
    save: async (context, ofContext) => {
      // What cannot be read is found out before anything goes to a keychain.
      await file.read();
      const { note, ...reference } = await secrets.add(context.name, ofContext);
      const added: KeptContext = { ...context, secrets: reference };
      try {
        const former = await changing(async ({ contexts }) => {
          const next = new Map([...contexts, [context.name, added]]);
          // The secrets first, added to the present ones: a login without its secrets is useless.
          if (reference.home === 'file')
            await secrets.writeFile([...contexts.values(), added], new Map([[reference.id, ofContext]]));
          await writeAll(context.name, next);
          return contexts.get(context.name);
        });
        if (former !== undefined) await secrets.removeFromKeychain(former);
      } catch (error) {
        await secrets.removeFromKeychain(added);
        throw error;
      }
      return note;
    },
    use: (name) =>
      changing(async ({ contexts }) => {
        const chosen = contextNamed(contexts, name);
        await file.write({ current: name, contexts });
        return chosen;
      }),
    remove: async (name) => {
      const removed = await changing(async ({ current, contexts }) => {
        const chosen = contextNamed(contexts, name);
        const others = new Map([...contexts].filter(([each]) => each !== name));
        await writeAll(current === name ? undefined : current, others);
        return chosen;
      });
      return secrets.removeFromKeychain(removed);
    },
    secretsOf: (context) => secrets.read(context),
    replaceSecrets: (context, next) =>
      locked(`secrets-${context.secrets.id}`, async () => {
        const present = await secrets.read(context);
        await secrets.rehearse(context);
        const replaced = await next(present);
        if (replaced === present) return present;
        await changing(async ({ contexts }) => {
          // Forgotten, or signed in again, in the meantime: then these belong to no login.
          if (contexts.get(context.name)?.secrets.id !== context.secrets.id) return;
          await secrets.replace(context, replaced, [...contexts.values()]);
        }, UNINTERRUPTED);
        return replaced;
      }),
  };
}

const inOrder = (contexts: ReadonlyMap<string, KeptContext>): KeptContext[] =>
  [...contexts.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));

function contextNamed(contexts: ReadonlyMap<string, KeptContext>, name: string): KeptContext {
  const found = contexts.get(name);
  if (found === undefined) throw unknownContext(name, inOrder(contexts));
  return found;
}

/** There is no login of that name. */
export const unknownContext = (
  name: string,
  contexts: readonly Pick<KeptContext, 'name'>[],
): ReturnType<typeof usage> =>
  usage(
    contexts.length === 0
      ? `there is no login ${name}, and no other: svault login --base-url URL`
      : `there is no login ${name}; svault context list shows them: ${contexts.map((context) => context.name).join(', ')}`,
  );

/** The logins of this user on this machine. Every method throws Failure for a file that is damaged or readable by others. */
export interface ContextStore {
  /** In the order of their names. */
  list(): Promise<{ readonly contexts: readonly KeptContext[]; readonly current: string | undefined }>;
  /**
   * Adds it or takes the place of the one with its name; makes it the current one.
   * @returns where its secrets went, for a person to read
   */
  save(context: Context, secrets: ContextSecrets): Promise<string>;
  /** Makes it the current one. @throws Failure usage that names those there are */
  use(name: string): Promise<Context>;
  /**
   * Forgets it and its secrets.
   * @returns why its secrets are still in a keychain that cannot be reached; undefined where nothing is left
   * @throws Failure usage that names those there are
   */
  remove(name: string): Promise<string | undefined>;
  /** @throws Failure denied where they are gone; failed where their keychain cannot be reached */
  secretsOf(context: KeptContext): Promise<ContextSecrets>;
  /**
   * Replaces them; no other process of this user does so meanwhile.
   * @param next is given those that are there then, and gives them back where there is nothing to change
   * @returns what it gave
   */
  replaceSecrets(
    context: KeptContext,
    next: (secrets: ContextSecrets) => Promise<ContextSecrets>,
  ): Promise<ContextSecrets>;
}
