import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import * as z from 'zod';
import { Failure, failed } from '../failure.ts';
import { jsonIn } from '../json-in.ts';
import { type ContextSecrets, type KeptContext, contextSecretsSchema } from './context.ts';
import { type Keychain, KeychainAway } from './keychain.ts';
import { keptDocument, rehearsePrivateFile } from './private-file.ts';

const ID_BYTES = 12;

const documentSchema = z.object({ secrets: z.record(z.string(), contextSecretsSchema) });

/** Where secrets of new logins go, and those of each login are found: in the keychain, else in `secrets.json` of a folder. */
export function keptSecrets(keychain: Keychain, folder: string) {
  const file = keptDocument(join(folder, 'secrets.json'), documentSchema);
  const inFile = async (): Promise<Readonly<Record<string, ContextSecrets>>> =>
    (await file.read())?.secrets ?? {};

  /** Takes those of the file that are not in use out of it, and adds. Only under the folder's lock. @throws Failure */
  const writeFile = async (
    inUse: readonly KeptContext[],
    added: ReadonlyMap<string, ContextSecrets> = new Map(),
  ): Promise<void> => {
    const ids = inUse.filter(({ secrets }) => secrets.home === 'file').map(({ secrets }) => secrets.id);
    const present = Object.entries(await inFile());
    const kept = [...present, ...added].filter(([id]) => ids.includes(id));
    if (kept.length > 0 || present.length > 0) await file.write({ secrets: Object.fromEntries(kept) });
  };
  const inKeychain = async (context: KeptContext): Promise<ContextSecrets | undefined> => {
    const text = await reached(context, keychain.read(accountOf(context)));
    return text === undefined ? undefined : contextSecretsSchema.safeParse(jsonIn(text)).data;
  };

  return {
    /** Puts them where they are kept from now on; those for the file only once {@link writeFile} says so. */
    add: async (
      name: string,
      secrets: ContextSecrets,
    ): Promise<KeptContext['secrets'] & { readonly note: string }> => {
      const id = randomBytes(ID_BYTES).toString('base64url');
      try {
        await keychain.write(accountOf({ name, secrets: { id } }), JSON.stringify(secrets));
        return { home: 'keychain', id, note: 'its secrets are in the system’s keychain' };
      } catch (error) {
        if (!(error instanceof KeychainAway)) throw error;
        const note = `its secrets are in ${file.path}, since there is no keychain (${error.message})`;
        return { home: 'file', id, note };
      }
    },
    /** @throws Failure */
    read: async (context: KeptContext): Promise<ContextSecrets> => {
      const { home, id } = context.secrets;
      const found =
        home === 'file' ? new Map(Object.entries(await inFile())).get(id) : await inKeychain(context);
      if (found !== undefined) return found;
      const where = home === 'file' ? file.path : 'the system’s keychain';
      throw new Failure(
        'denied',
        `the secrets of ${context.name} are not in ${where} any more: svault login --as ${context.name}`,
      );
    },
    /** Before those that are kept become worthless. @throws Failure where no others could be put in their place now */
    rehearse: async ({ secrets: { home } }: KeptContext): Promise<void> => {
      if (home === 'file') await rehearsePrivateFile(file.path);
    },
    /** Only under the folder's lock. @throws Failure */
    replace: async (
      context: KeptContext,
      secrets: ContextSecrets,
      inUse: readonly KeptContext[],
    ): Promise<void> => {
      if (context.secrets.home === 'file') return writeFile(inUse, new Map([[context.secrets.id, secrets]]));
      await reached(context, keychain.write(accountOf(context), JSON.stringify(secrets)));
    },
    writeFile,
    /** @returns why they are still in the keychain; undefined where they are not */
    removeFromKeychain: async (context: KeptContext): Promise<string | undefined> => {
      if (context.secrets.home === 'file') return undefined;
      return keychain.remove(accountOf(context)).then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof KeychainAway) return error.message;
          throw error;
        },
      );
    },
  };
}

const accountOf = ({ name, secrets }: { name: string; secrets: { id: string } }): string =>
  `${name} ${secrets.id}`;

async function reached<T>({ name }: KeptContext, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof KeychainAway)) throw error;
    throw failed(
      `the secrets of ${name} are in the system’s keychain, which does not open (${error.message}): unlock it, or sign in by another name`,
      error,
    );
  }
}
