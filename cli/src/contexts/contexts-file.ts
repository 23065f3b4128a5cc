import { join } from 'node:path';
import * as z from 'zod';
import { safeAddress } from '../http/service-address.ts';
import { isContextName } from './context-name.ts';
import type { KeptContext } from './context.ts';
import { keptDocument } from './private-file.ts';

const common = {
  // A file that was changed by hand must not lead a key to where it would be read on the way.
  baseUrl: z.string().refine((text) => safeAddress(text) !== undefined && !text.endsWith('/')),
  secrets: z.object({ home: z.enum(['keychain', 'file']), id: z.string().regex(/^[\w-]{1,64}$/) }),
};
const recordSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('admin'), email: z.string(), ...common }),
  z.object({ kind: z.literal('agent'), keyPrefix: z.string(), ...common }),
]);
const documentSchema = z.object({
  current: z.string().nullable(),
  contexts: z.record(z.string().refine(isContextName), recordSchema),
});

/** Which logins there are; without secrets. */
export interface KeptContexts {
  readonly current: string | undefined;
  readonly contexts: ReadonlyMap<string, KeptContext>;
}

/** `contexts.json` of a folder. */
export function contextsFile(folder: string) {
  const file = keptDocument(join(folder, 'contexts.json'), documentSchema);
  return {
    read: async (): Promise<KeptContexts> => {
      const { current = null, contexts = {} } = (await file.read()) ?? {};
      const named = Object.entries(contexts).map(([name, record]) => [name, { name, ...record }] as const);
      return {
        current: current !== null && Object.hasOwn(contexts, current) ? current : undefined,
        contexts: new Map(named),
      };
    },
    write: ({ current, contexts }: KeptContexts): Promise<void> =>
      file.write({
        current: current ?? null,
        contexts: Object.fromEntries(
          [...contexts].map(([key, { name: _name, ...record }]) => [key, record] as const),
        ),
      }),
  };
}
