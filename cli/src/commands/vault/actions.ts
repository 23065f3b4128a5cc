import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { type Shape, printDone, printOne } from '../../output/print.ts';

/** `vault status` */
export const vaultStatus: Run = async (invocation) => {
  const client = await apiClient(invocation);
  printOne(invocation, await client.read('/api/vault', vaultSchema), VAULT);
};

/** `vault lock` and `vault unlock`; repeating one changes nothing and prints the same message. */
const settingLock =
  (verb: 'lock' | 'unlock'): Run =>
  async (invocation) => {
    const client = await apiClient(invocation);
    const answer = await client.change({ method: 'POST', path: `/api/vault/${verb}`, schema: vaultSchema });
    const said = answer.locked
      ? 'the vault is locked: no credential is given out and nothing can be changed, until svault vault unlock'
      : 'the vault is unlocked: agents get what they are granted';
    printDone(invocation, { said, answer, name: stateOf(answer) });
  };
export const lockVault = settingLock('lock');
export const unlockVault = settingLock('unlock');

/** `vault edit` */
export const editVault: Run<[], { readonly accessRequests?: boolean }> = async (
  invocation,
  _,
  { accessRequests },
) => {
  if (accessRequests === undefined)
    throw usage('nothing to change: give --access-requests or --no-access-requests');
  const client = await apiClient(invocation);
  const body = { accessRequests };
  const answer = await client.change({ method: 'PATCH', path: '/api/vault', body, schema: vaultSchema });
  const said = accessRequests
    ? 'agents may ask for credentials that they have no grant for: svault approvals lists what they ask'
    : 'agents may no longer ask for grants';
  printDone(invocation, { said, answer, name: stateOf(answer) });
};

const vaultSchema = z.looseObject({
  id: z.string(),
  locked: z.boolean(),
  lockedAt: z.string().nullable(),
  accessRequests: z.boolean().optional(),
});
type Vault = z.infer<typeof vaultSchema>;

const stateOf = ({ locked }: Vault): string => (locked ? 'locked' : 'unlocked');

const VAULT: Shape<Vault> = {
  columns: [
    { title: 'state', of: stateOf, tone: ({ locked }) => (locked ? 'yellow' : 'green') },
    { title: 'since', of: ({ lockedAt }, { time }) => time(lockedAt) },
    { title: 'id', of: ({ id }) => id },
    {
      title: 'access requests',
      of: ({ accessRequests }) =>
        accessRequests === undefined ? '' : accessRequests ? 'agents may ask' : 'agents may not ask',
    },
  ],
  name: stateOf,
};
