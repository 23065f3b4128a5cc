import type { Context, ContextSecrets } from './context.ts';

/** Where the secrets of a login are: in the system's keychain, or in a file that its user alone can read. */
export type SecretsHome = 'keychain' | 'file';

/** A login that is kept, and where its secrets are. */
export type KeptContext = Context & {
  readonly secrets: {
    readonly home: SecretsHome;
    /** New with each sign-in, so that no secret is ever taken for that of another service or person. */
    readonly id: string;
  };
};

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
