import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { Failure } from '../failure.ts';
import { jsonIn } from '../json-in.ts';
import { type ContextSecrets, type KeptContext, contextSecretsSchema } from './context.ts';
import { type Keychain, KeychainAway } from './keychain.ts';
import { keptDocument, rehearsePrivateFile } from './private-file.ts';

const ID_BYTES = 12;

/** Where secrets of new logins go, and those of each login are found: in the keychain, else in the file. */
interface KeptSecrets {
  /** Puts them where they are kept from now on; those for the file only once {@link writeFile} says so. */
  add(name: string, secrets: ContextSecrets): Promise<KeptContext['secrets'] & { readonly note: string }>;
  /** @throws Failure */
  read(context: KeptContext): Promise<ContextSecrets>;
  /** Before those that are kept become worthless. @throws Failure where no others could be put in their place now */
  rehearse(context: KeptContext): Promise<void>;
  /** Only under the folder's lock. @throws Failure */
  replace(context: KeptContext, secrets: ContextSecrets, inUse: readonly KeptContext[]): Promise<void>;
  /** Takes those of the file that are not in use out of it, and adds. Only under the folder's lock. */
  writeFile(inUse: readonly KeptContext[], added?: ReadonlyMap<string, ContextSecrets>): Promise<void>;
  /** @returns why they are still in the keychain; undefined where they are not */
  removeFromKeychain(context: Pick<KeptContext, 'name' | 'secrets'>): Promise<string | undefined>;
}

export function keptSecrets(keychain: Keychain, file: SecretsFile): KeptSecrets {
  const writeFile: KeptSecrets['writeFile'] = (inUse, added = new Map()) =>
    file.write(
      added,
      new Set(inUse.filter(({ secrets }) => secrets.home === 'file').map(({ secrets }) => secrets.id)),
    );
  return {
    add: async (name, secrets) => {
      const id = randomBytes(ID_BYTES).toString('base64url');
      try {
        await keychain.write(accountOf({ name, secrets: { id } }), JSON.stringify(secrets));
        return { home: 'keychain', id, note: 'its secrets are in the system’s keychain' };
      } catch (error) {
        if (!(error instanceof KeychainAway)) throw error;
        return {
          home: 'file',
          id,
          note: `its secrets are in ${file.path}, since there is no keychain (${error.message})`,
        };
      }
    },
    read: async (context) => {
      const found =
        context.secrets.home === 'file'
          ? await file.read(context.secrets.id)
          : await inKeychain(keychain, context);
      if (found !== undefined) return found;
      const where = context.secrets.home === 'file' ? file.path : 'the system’s keychain';
      throw new Failure(
        'denied',
        `the secrets of ${context.name} are not in ${where} any more: svault login --as ${context.name}`,
      );
    },
    rehearse: async ({ secrets: { home } }) => {
      if (home === 'file') await file.rehearse();
    },
    replace: async (context, secrets, inUse) => {
      if (context.secrets.home === 'file') return writeFile(inUse, new Map([[context.secrets.id, secrets]]));
      await reached(context, () => keychain.write(accountOf(context), JSON.stringify(secrets)));
    },
    writeFile,
    removeFromKeychain: async (context) => {
      if (context.secrets.home === 'file') return undefined;
      try {
        await keychain.remove(accountOf(context));
        return undefined;
      } catch (error) {
        if (error instanceof KeychainAway) return error.message;
        throw error;
      }
    },
  };
}

const accountOf = ({
  name,
  secrets,
}: {
  readonly name: string;
  readonly secrets: { readonly id: string };
}): string => `${name} ${secrets.id}`;

async function inKeychain(keychain: Keychain, context: KeptContext): Promise<ContextSecrets | undefined> {
  const text = await reached(context, () => keychain.read(accountOf(context)));
  return text === undefined ? undefined : contextSecretsSchema.safeParse(jsonIn(text)).data;
}

async function reached<T>({ name }: KeptContext, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof KeychainAway)) throw error;
    throw new Failure(
      'failed',
      `the secrets of ${name} are in the system’s keychain, which does not open (${error.message}): unlock it, or sign in by another name`,
      { cause: error },
    );
  }
}

const documentSchema = z.object({ secrets: z.record(z.string(), contextSecretsSchema) });

/** `secrets.json` of a folder, for where there is no keychain. */
interface SecretsFile {
  readonly path: string;
  read(id: string): Promise<ContextSecrets | undefined>;
  /** @throws Failure where nothing could be written now */
  rehearse(): Promise<void>;
  /** Changes it, and deletes all secrets that are not in use. Only under the folder's lock. */
  write(changed: ReadonlyMap<string, ContextSecrets>, inUse: ReadonlySet<string>): Promise<void>;
}

export function secretsFile(folder: string): SecretsFile {
  const file = keptDocument(join(folder, 'secrets.json'), documentSchema);
  return {
    path: file.path,
    read: async (id) => {
      const { secrets = {} } = (await file.read()) ?? {};
      return Object.hasOwn(secrets, id) ? secrets[id] : undefined;
    },
    rehearse: () => rehearsePrivateFile(file.path),
    write: async (changed, inUse) => {
      const present = Object.entries((await file.read())?.secrets ?? {});
      const kept = [...present, ...changed].filter(([id]) => inUse.has(id));
      if (kept.length === 0 && present.length === 0) return;
      await file.write({ secrets: Object.fromEntries(kept) });
    },
  };
}
