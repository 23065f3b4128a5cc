import { z } from 'zod';
import type { Shape } from '../output/print.ts';

/** The vault, as the service describes it (contract, "Management routes"). */
export const vaultSchema = z.looseObject({
  id: z.string(),
  locked: z.boolean(),
  lockedAt: z.string().nullable(),
});
type Vault = z.infer<typeof vaultSchema>;

export const stateOf = ({ locked }: Vault): string => (locked ? 'locked' : 'unlocked');

export const VAULT: Shape<Vault> = {
  columns: [
    { title: 'state', of: stateOf, tone: ({ locked }) => (locked ? 'yellow' : 'green') },
    { title: 'since', of: ({ lockedAt }, { time }) => time(lockedAt) },
    { title: 'id', of: ({ id }) => id },
  ],
  name: stateOf,
};
