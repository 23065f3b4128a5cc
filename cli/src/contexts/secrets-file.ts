import { join } from 'node:path';
import { z } from 'zod';
import { contextSecretsSchema } from './context-secrets-schema.ts';
import type { ContextSecrets } from './context.ts';
import { keptDocument } from './kept-document.ts';
import { rehearsePrivateFile } from './private-file.ts';

const documentSchema = z.object({ secrets: z.record(z.string(), contextSecretsSchema) });

/** `secrets.json` of a folder, for where there is no keychain. */
export interface SecretsFile {
  readonly path: string;
  read(id: string): Promise<ContextSecrets | undefined>;
  /** @throws Failure where nothing could be written now */
  rehearse(): Promise<void>;
  /** Changes it, and forgets whatever is not in use any more. Only under the folder's lock. */
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
