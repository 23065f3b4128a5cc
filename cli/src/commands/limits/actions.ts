import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import { apiClient } from '../../api/api-client.ts';
import { referred } from '../../api/resource.ts';
import { PROXY } from '../../api/resources.ts';
import type { Run } from '../../invocation.ts';
import { withQuery } from '../../json-in.ts';
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

const usageSchema = z.looseObject({ scope: z.string(), limit: z.number(), used: z.number() });
const limitsSchema = z.looseObject({
  counters: z.array(usageSchema.extend({ windowSeconds: z.number(), resetsInSeconds: z.number() })),
  quotas: z.array(usageSchema),
});
type Usage = z.infer<typeof usageSchema> & { windowSeconds?: number; resetsInSeconds?: number };

const USAGE: Shape<Usage> = {
  columns: [
    { title: 'limit', of: ({ scope }) => scope },
    {
      title: 'used',
      of: ({ used, limit }) => `${used} of ${limit}`,
      tone: ({ used, limit }) => (used >= limit ? 'yellow' : undefined),
      whole: true,
    },
    {
      title: 'in',
      of: ({ windowSeconds }) => (windowSeconds === undefined ? '' : `${windowSeconds} s`),
      whole: true,
    },
    {
      title: 'starts again in',
      of: ({ resetsInSeconds = 0 }) => (resetsInSeconds === 0 ? '' : `${resetsInSeconds} s`),
      whole: true,
    },
  ],
  name: ({ scope }) => scope,
  none: 'there are no limits',
};

interface UsageOptions {
  readonly agent?: string;
  readonly proxy?: string;
}

/** `limits usage` */
export const showUsage: Run<[], UsageOptions> = async (invocation, _, { agent, proxy }) => {
  const client = await apiClient(invocation);
  const callerId =
    agent !== undefined
      ? (await agentReferred(client, agent)).id
      : proxy !== undefined
        ? (await referred(client, PROXY, proxy)).id
        : undefined;
  const { counters, quotas } = await client.read(withQuery('/api/limits', { callerId }), limitsSchema);
  printList<Usage>(invocation, [...counters, ...quotas], USAGE);
};
