import { z } from 'zod';
import { apiClient } from '../../api/api-client.ts';
import type { Run } from '../../invocation.ts';
import { type Shape, printList } from '../../output/print.ts';

const lockoutSchema = z.looseObject({
  callerId: z.string(),
  name: z.string().nullable(),
  strikes: z.number(),
  retryAfter: z.number(),
});

const LOCKOUTS: Shape<z.infer<typeof lockoutSchema>> = {
  columns: [
    { title: 'name', of: ({ name, callerId }) => name ?? callerId },
    { title: 'for', of: ({ retryAfter }) => `${retryAfter} s`, whole: true },
    { title: 'strikes', of: ({ strikes }) => String(strikes), whole: true },
    { title: 'id', of: ({ callerId }) => callerId, whole: true },
  ],
  name: ({ callerId }) => callerId,
  none: 'nobody is locked out',
};

/** `limits list` */
export const listLockouts: Run = async (invocation) => {
  const client = await apiClient(invocation);
  const { items } = await client.read(
    '/api/limits/lockouts',
    z.looseObject({ items: z.array(lockoutSchema) }),
  );
  printList(invocation, items, LOCKOUTS);
};
