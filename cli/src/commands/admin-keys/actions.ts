import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { nameOrId } from '../../api/resource.ts';
import { ADMIN_KEY } from '../../api/resources.ts';
import { usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { printSecret } from '../../output/print.ts';
import { type PrintedResource, listing, removing } from '../resource-commands.ts';

const adminKeySchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  origin: z.string(),
  userId: z.string(),
  keyPrefix: z.string(),
  createdAt: z.string(),
  lastUsedAt: z.string().nullable(),
});

const ADMIN_KEYS: PrintedResource<z.infer<typeof adminKeySchema>> = {
  resource: ADMIN_KEY,
  schema: adminKeySchema,
  shape: (all) => ({
    columns: [
      { title: 'name', of: ({ name }) => name },
      { title: 'key', of: ({ keyPrefix }) => keyPrefix, whole: true },
      { title: 'last used', of: ({ lastUsedAt }, { time }) => time(lastUsedAt) || 'never', whole: true },
      { title: 'created', of: ({ createdAt }, { time }) => time(createdAt), whole: true },
      { title: 'id', of: ({ id }) => id, whole: true },
      {
        title: 'from',
        of: ({ origin }) => (origin === 'settings' ? 'SV_BOOTSTRAP_ADMIN_KEY' : 'the API'),
        wide: true,
      },
      { title: 'of', of: ({ userId }) => userId, wide: true },
    ],
    name: nameOrId(all),
    none: 'there are no admin keys: svault admin-keys create --name NAME',
  }),
};

/** `admin-keys list` */
export const listAdminKeys = listing(ADMIN_KEYS);
/** `admin-keys rm KEY` */
export const removeAdminKey = removing(ADMIN_KEY, {
  question: ({ name, id }) => `Revoke the admin key ${name} (${id})? What uses it stops working.`,
  said: ({ name, id }) => `the admin key ${name} (${id}) is revoked`,
});

const madeSchema = z.looseObject({ adminKey: adminKeySchema, key: z.string().regex(/^svadmin_[!-~]+$/) });

/** `admin-keys create` */
export const createAdminKey: Run<[], { readonly name?: string }> = async (invocation, _, { name }) => {
  if (name === undefined || name.trim() === '') throw usage('an admin key needs a name: --name');
  const client = await apiClient(invocation);
  const body = { name };
  const answer = await client.change({ method: 'POST', path: ADMIN_KEY.path, body, schema: madeSchema });
  printSecret(invocation, {
    said: `the admin key ${name} (${answer.adminKey.id}) is created`,
    answer,
    name,
    secret: { called: 'key', note: 'which is shown only once', text: answer.key },
  });
};
