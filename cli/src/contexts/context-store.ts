import type { Context, ContextSecrets } from './context.ts';

/** The logins of this user on this machine. Every method throws Failure for a file that is damaged or readable by others. */
export interface ContextStore {
  /** In the order of their names. */
  list(): Promise<{ readonly contexts: readonly Context[]; readonly current: string | undefined }>;
  /** Adds it or takes the place of the one with its name; makes it the current one. */
  save(context: Context, secrets: ContextSecrets): Promise<void>;
  /** @throws Failure usage that names those there are */
  use(name: string): Promise<Context>;
  /** Forgets it and its secrets. @throws Failure usage that names those there are */
  remove(name: string): Promise<Context>;
  /** @throws Failure denied where they are gone */
  secretsOf(context: Context): Promise<ContextSecrets>;
  /**
   * Replaces them; no other process of this user does so meanwhile.
   * @param next is given those that are there then, and gives them back where there is nothing to change
   */
  replaceSecrets(
    context: Context,
    next: (secrets: ContextSecrets) => Promise<ContextSecrets>,
  ): Promise<ContextSecrets>;
}
