import type { z } from 'zod';
import { Failure } from '../failure.ts';
import { jsonIn } from '../json-in.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

/** Of what is kept; a later one may mean something else. */
const VERSION = 1;

/** A JSON file of this user's, with a version. */
export interface KeptDocument<T> {
  readonly path: string;
  /** @returns undefined where there is none. @throws Failure */
  read(): Promise<T | undefined>;
  /** @throws Failure */
  write(document: T): Promise<void>;
}

/** @param schema without the version */
export function keptDocument<T extends object>(path: string, schema: z.ZodType<T>): KeptDocument<T> {
  const damaged = (): Failure =>
    new Failure('failed', `${path} is damaged: repair it, or delete it and sign in again`);
  return {
    path,
    read: async () => {
      const text = await readPrivateFile(path);
      if (text === undefined) return undefined;
      const document = jsonIn(text);
      if (typeof document !== 'object' || document === null || !('version' in document)) throw damaged();
      if (typeof document.version === 'number' && document.version > VERSION)
        throw new Failure(
          'failed',
          `${path} was written by a newer svault: use that one, or another SVAULT_CONFIG_DIR`,
        );
      const parsed = schema.safeParse(document);
      if (document.version !== VERSION || !parsed.success) throw damaged();
      return parsed.data;
    },
    write: (document) =>
      writePrivateFile(path, `${JSON.stringify({ version: VERSION, ...document }, null, 2)}\n`),
  };
}
