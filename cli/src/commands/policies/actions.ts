import { apiClient, nothingSchema } from '../../api/api-client.ts';
import { nameOrId, pathOf, referred } from '../../api/resource.ts';
import { POLICY } from '../../api/resources.ts';
import { Failure, usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { withQuery } from '../../json-in.ts';
import { jsonText } from '../../output/json-text.ts';
import { plainLine } from '../../output/plain-line.ts';
import { type Shape, printDone, printList, printOne } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { type NamedOptions, removing, searched } from '../resource-commands.ts';
import { type Step, linesOf, planFor } from './plan.ts';
import { policiesIn } from './policy-file.ts';
import {
  type AttachedNames,
  type Policy,
  type Target,
  type TargetOptions,
  attachmentReader,
  attachmentSchema,
  attachmentsPath,
  policySchema,
  ruleLine,
  targetFrom,
  withoutOwnMembers,
} from './policy.ts';

const COLUMNS: Shape<Policy>['columns'] = [
  { title: 'name', of: ({ name }) => name },
  {
    title: 'state',
    of: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
    tone: ({ enabled }) => (enabled ? undefined : 'yellow'),
    whole: true,
  },
  { title: 'rules', of: ({ rules }) => rules.map(({ type }) => type).join(', ') },
  { title: 'changed', of: ({ updatedAt }, { time }) => time(updatedAt), whole: true },
  { title: 'id', of: ({ id }) => id, whole: true },
];

/** `policies list` */
export const listPolicies: Run<[], TargetOptions & NamedOptions> = async (
  invocation,
  _,
  { name, ...options },
) => {
  const client = await apiClient(invocation);
  const target = await targetFrom(client, options);
  const { targetType, targetId } = target ?? {};
  const path = withQuery(POLICY.path, { name, targetType, targetId });
  const policies = await client.readAll(path, policySchema);
  const none =
    target === undefined
      ? 'there are no policies yet: svault policies apply FILE'
      : `no policy is attached to ${target.called}`;
  const shape = { columns: COLUMNS, name: nameOrId(policies), none };
  printList(invocation, policies, searched(shape, 'policy', name));
};

type WithTargets = Policy & { readonly attachments: AttachedNames };

const SHOWN: Shape<WithTargets> = {
  columns: [
    ...COLUMNS.filter(({ title }) => title !== 'rules'),
    { title: 'rules', of: ({ rules }) => rules.map(ruleLine).join('\n') },
    { title: 'agents', of: ({ attachments }) => attachments.agents.join('\n') },
    { title: 'proxies', of: ({ attachments }) => attachments.proxies.join('\n') },
    { title: 'credentials', of: ({ attachments }) => attachments.services.join('\n') },
  ],
  name: ({ name }) => name,
};

/** `policies show POLICY` */
export const showPolicy: Run<[string]> = async (invocation, [reference]) => {
  const client = await apiClient(invocation);
  const { id } = await referred(client, POLICY, reference);
  const policy = await client.read(pathOf(POLICY, id), policySchema);
  const { names } = await (await attachmentReader(client))(id);
  printOne(invocation, { ...policy, attachments: names }, { ...SHOWN, name: () => reference });
};

/** `policies export [POLICY…]`: YAML, or JSON with that format; both are what apply takes. */
export const exportPolicies: Run<[readonly string[]]> = async (invocation, [references]) => {
  const client = await apiClient(invocation);
  const ids: string[] = [];
  for (const reference of references) ids.push((await referred(client, POLICY, reference)).id);
  const all = await client.readAll(POLICY.path, policySchema);
  const attachmentsOf = await attachmentReader(client);
  const policies = [];
  for (const policy of all.filter(({ id }) => ids.length === 0 || ids.includes(id))) {
    const { names } = await attachmentsOf(policy.id);
    const attached = Object.entries(names).filter(([, each]) => (each as readonly string[]).length > 0);
    policies.push({ ...withoutOwnMembers(policy), attach: Object.fromEntries(attached) });
  }
  const { stringify } = await import('yaml');
  const text = invocation.flags.format === 'json' ? jsonText({ policies }) : stringify({ policies });
  invocation.terminal.out(text);
};

/** `policies rm POLICY` */
export const removePolicy = removing(POLICY, {
  question: ({ name }) => `Delete the policy ${name}, its attachments and its counts?`,
  said: ({ name }) => `the policy ${name} is deleted, with its attachments and counts`,
});

const printSteps = (invocation: Invocation, steps: readonly Step[]): void => {
  const { flags, terminal } = invocation;
  if (flags.format === 'json') return terminal.out(jsonText(steps.map(withoutLines)));
  for (const line of steps.flatMap(linesOf)) terminal.out(`${plainLine(line)}\n`);
};

function withoutLines(step: Step): object {
  if (!('lines' in step)) return step;
  const { lines: _, ...others } = step;
  return others;
}

/** `policies diff FILE…`: exit 8 where apply would change something. */
export const diffPolicies: Run<[readonly string[]]> = async (invocation, [files]) => {
  const written = await policiesIn(invocation, files);
  const steps = await planFor(await apiClient(invocation), written);
  printSteps(invocation, steps);
  if (steps.length === 0) return say(invocation, 'nothing would change');
  throw new Failure('differs', `${count(steps)} would be applied by svault policies apply`);
};

/** `policies apply FILE…` */
export const applyPolicies: Run<[readonly string[]]> = async (invocation, [files]) => {
  const written = await policiesIn(invocation, files);
  const client = await apiClient(invocation);
  const steps = await planFor(client, written);
  const made = new Map<string, string>();
  const done: Step[] = [];
  try {
    for (const step of steps) {
      if (step.action === 'create') {
        const { path } = POLICY;
        const { id } = await client.change({ method: 'POST', path, body: step.body, schema: policySchema });
        made.set(step.policy, id);
      } else if (step.action === 'update') {
        const path = pathOf(POLICY, step.id);
        await client.change({ method: 'PATCH', path, body: step.body, schema: policySchema });
      } else {
        const id = step.id ?? made.get(step.policy) ?? '';
        await sendAttachment(client, step.action, id, step.target);
      }
      done.push(step);
    }
  } finally {
    printSteps(invocation, done);
    if (done.length < steps.length)
      say(invocation, `${done.length} of ${count(steps)} were applied; correct the file and apply it again`);
  }
  say(invocation, steps.length === 0 ? 'nothing to change' : `${count(steps)} applied`);
};

const count = ({ length }: readonly Step[]): string => (length === 1 ? '1 change' : `${length} changes`);

type Client = Awaited<ReturnType<typeof apiClient>>;

async function sendAttachment(
  client: Client,
  action: 'attach' | 'detach',
  policyId: string,
  { targetType, targetId }: Target,
): Promise<void> {
  const path = attachmentsPath(policyId);
  const body = { targetType, targetId };
  await (action === 'attach'
    ? client.change<unknown>({ method: 'POST', path, body, schema: attachmentSchema })
    : client.change<unknown>({ method: 'DELETE', path, body, schema: nothingSchema }));
}

const attachingOne =
  (
    action: 'attach' | 'detach',
    saidOf: (policy: string, target: string) => string,
  ): Run<[string], TargetOptions> =>
  async (invocation, [reference], options) => {
    const client = await apiClient(invocation);
    const { id, name } = await referred(client, POLICY, reference);
    const target = await targetFrom(client, options);
    if (target === undefined) throw usage('say what it is about: --agent, --proxy or --service');
    await sendAttachment(client, action, id, target);
    const { targetType, targetId, called } = target;
    const answer = { policyId: id, targetType, targetId, attached: action === 'attach' };
    printDone(invocation, { said: saidOf(name, called), answer, name: reference });
  };

/** `policies attach POLICY` */
export const attachPolicy = attachingOne(
  'attach',
  (policy, target) => `${policy} decides about the ${target} from its next request on`,
);
/** `policies detach POLICY` */
export const detachPolicy = attachingOne(
  'detach',
  (policy, target) => `${policy} no longer decides about the ${target}`,
);
