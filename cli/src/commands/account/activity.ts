import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import { apiClient } from '../../api/api-client.ts';
import { timeFrom } from '../../api/time-from.ts';
import { withQuery } from '../../json-in.ts';
import type { Run } from '../../invocation.ts';
import { jsonText } from '../../output/json-text.ts';
import { type Column, type Shape, printList } from '../../output/print.ts';
import { say } from '../../output/say.ts';

const countsShape = {
  accesses: z.number(),
  denied: z.number(),
  rateLimited: z.number(),
  errors: z.number(),
};
const countsSchema = z.looseObject(countsShape);

const COUNTS: readonly Column<z.infer<typeof countsSchema>>[] = [
  { title: 'accesses', of: ({ accesses }) => String(accesses) },
  {
    title: 'denied',
    of: ({ denied }) => String(denied),
    tone: ({ denied }) => (denied > 0 ? 'yellow' : undefined),
  },
  { title: 'too many', of: ({ rateLimited }) => String(rateLimited) },
  { title: 'errors', of: ({ errors }) => String(errors) },
];

const seriesSchema = z.looseObject({
  bucket: z.string(),
  from: z.string(),
  since: z.string(),
  complete: z.boolean(),
  buckets: z.array(z.looseObject({ start: z.string(), ...countsShape })),
});

const BUCKETS: Shape<z.infer<typeof seriesSchema>['buckets'][number]> = {
  columns: [
    // The whole time also in a table: rows are hours or days apart, which distances would round away.
    { title: 'from', of: ({ start }) => start.replace(':00.000Z', 'Z'), whole: true },
    ...COUNTS,
  ],
  name: ({ start }) => start,
};

interface ActivityOptions {
  readonly agent?: string;
  readonly bucket?: string;
  readonly from?: string;
  readonly to?: string;
}

/** `account activity` */
export const showActivity: Run<[], ActivityOptions> = async (invocation, _, { agent, bucket, from, to }) => {
  const client = await apiClient(invocation);
  const nowMs = Date.now();
  const path = withQuery('/api/overview/series', {
    bucket,
    agentId: agent === undefined ? undefined : (await agentReferred(client, agent)).id,
    from: from === undefined ? undefined : timeFrom(from, nowMs, '--from'),
    to: to === undefined ? undefined : timeFrom(to, nowMs, '--to'),
  });
  const series = await client.read(path, seriesSchema);
  if (invocation.flags.format === 'json') return invocation.terminal.out(jsonText(series));
  printList(invocation, series.buckets, BUCKETS);
  if (series.since > series.from) say(invocation, `counts before ${series.since} may have been removed`);
  if (!series.complete) say(invocation, 'the newest requests are not counted yet: run it again in a minute');
};

const activeAgentsSchema = z.looseObject({
  complete: z.boolean(),
  items: z.array(z.looseObject({ agentId: z.string(), name: z.string().nullable(), ...countsShape })),
});

const ACTIVE_AGENTS: Shape<z.infer<typeof activeAgentsSchema>['items'][number]> = {
  columns: [
    { title: 'agent', of: ({ name, agentId }) => name ?? agentId },
    ...COUNTS,
    { title: 'id', of: ({ agentId }) => agentId, wide: true },
  ],
  name: ({ agentId }) => agentId,
  none: 'no agent has asked for a credential in these hours',
};

interface ActiveAgentsOptions {
  readonly hours?: string;
  readonly limit?: string;
}

/** `account active-agents` */
export const showActiveAgents: Run<[], ActiveAgentsOptions> = async (invocation, _, { hours, limit }) => {
  const client = await apiClient(invocation);
  const path = withQuery('/api/overview/agents', { hours, limit });
  const active = await client.read(path, activeAgentsSchema);
  if (invocation.flags.format === 'json') return invocation.terminal.out(jsonText(active));
  printList(invocation, active.items, ACTIVE_AGENTS);
  if (!active.complete)
    say(invocation, 'not every request is counted here: one of the agents may be missing');
};
