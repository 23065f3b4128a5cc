import * as z from 'zod';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { POLICY } from '../../api/resources.ts';
import { usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { given } from '../../json-in.ts';
import { jsonText } from '../../output/json-text.ts';
import { plainLine } from '../../output/plain-line.ts';
import { type Shape, printList } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { presentPolicy, targetsOf } from './plan.ts';
import { type Policy, policySchema } from './policy.ts';
import { type WrittenPolicy, policiesIn } from './policy-file.ts';

const exampleSchema = z.looseObject({
  seq: z.number(),
  timestamp: z.string(),
  agentId: z.string().optional(),
  agentName: z.string().optional(),
  proxyId: z.string().optional(),
  proxyName: z.string().optional(),
  serviceName: z.string().optional(),
  address: z.string().nullable(),
  decision: z.string(),
  draftDecision: z.string(),
  policy: z.string(),
  rule: z.string(),
});
type Example = z.infer<typeof exampleSchema>;

const previewSchema = z.looseObject({
  looked: z.number(),
  since: z.string().nullable(),
  complete: z.boolean(),
  denied: z.number(),
  allowed: z.number(),
  unknown: z.number(),
  examples: z.array(exampleSchema),
});
type Preview = z.infer<typeof previewSchema>;

const EXAMPLES: Shape<Example> = {
  columns: [
    { title: 'time', of: ({ timestamp }, { time }) => time(timestamp), whole: true },
    {
      title: 'who',
      of: ({ agentName, agentId, proxyName, proxyId }) => agentName ?? proxyName ?? agentId ?? proxyId ?? '',
    },
    { title: 'credential', of: ({ serviceName }) => serviceName ?? '' },
    { title: 'was', of: ({ decision }) => decision, whole: true },
    {
      title: 'would be',
      of: ({ draftDecision }) => draftDecision,
      tone: ({ draftDecision }) => (draftDecision === 'allowed' ? 'green' : 'yellow'),
      whole: true,
    },
    { title: 'by', of: ({ policy, rule }) => `${rule} of ${policy}` },
    { title: 'from', of: ({ address }) => address ?? 'an unknown address' },
    { title: 'event', of: ({ seq }) => String(seq), wide: true },
  ],
  name: ({ seq }) => String(seq),
  none: 'no request would be decided otherwise',
};

/** `policies preview FILE…` */
export const previewPolicies: Run<[readonly string[]]> = async (invocation, [files]) => {
  const written = await policiesIn(invocation, files);
  const client = await apiClient(invocation);
  const present = await client.readAll(POLICY.path, policySchema);
  const previews: (Preview & { readonly policy: string })[] = [];
  for (const policy of written)
    previews.push({ policy: policy.name, ...(await previewed(client, policy, present)) });
  if (invocation.flags.format === 'json') invocation.terminal.out(jsonText(previews));
  else
    printList(
      invocation,
      previews.flatMap(({ examples }) => examples),
      EXAMPLES,
    );
  for (const { policy, ...preview } of previews) say(invocation, `${policy}: ${summaryOf(preview)}`);
};

async function previewed(
  client: ApiClient,
  { name, enabled, rules, attach }: WrittenPolicy,
  present: readonly Policy[],
): Promise<Preview> {
  const before = presentPolicy(present, name);
  if (before === undefined && attach === undefined)
    throw usage(
      `the policy ${plainLine(name)} is new; say in its file what to attach it to: attach: { agents: [NAME] }`,
    );
  const targets = attach === undefined ? undefined : await targetsOf(client, attach);
  const attachments = targets?.map(({ targetType, targetId }) => ({ targetType, targetId }));
  const body = given({ policyId: before?.id, name, enabled, rules, attachments });
  return client.change({ method: 'POST', path: '/api/policies/preview', body, schema: previewSchema });
}

function summaryOf({ looked, since, complete, denied, allowed, unknown }: Preview): string {
  const covered = since === null ? 'the log is empty' : `since ${since}${complete ? ', its beginning' : ''}`;
  return `of ${looked} requests in the log (${covered}) ${denied} would be denied, ${allowed} let through, ${unknown} cannot be told`;
}
