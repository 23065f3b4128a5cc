import { z } from 'zod';
import type {} from 'zod-openapi';
import type { NamedLockout } from '../../../management/named-lockouts.ts';

const lockoutSchema = z
  .object({
    callerId: z.string().meta({ description: 'The agent or proxy' }),
    name: z.string().nullable(),
    strikes: z.int().meta({ description: 'That count now; one decays with each hour without a violation' }),
    retryAfter: z.int().meta({ description: 'Seconds' }),
  })
  .meta({ id: 'Lockout' });

export const lockoutsSchema = z.object({ items: z.array(lockoutSchema) });

export const toLockoutView = ({
  callerId,
  name,
  strikes,
  retryAfterSeconds,
}: NamedLockout): z.infer<typeof lockoutSchema> => ({
  callerId,
  name: name ?? null,
  strikes,
  retryAfter: retryAfterSeconds,
});
