import type { ApiClient } from '../../api/api-client.ts';
import { POLICY } from '../../api/resources.ts';
import { usage } from '../../failure.ts';
import { listed } from '../../output/plain-line.ts';
import {
  type Attachment,
  type Policy,
  type Target,
  attachmentReader,
  policySchema,
  ruleLine,
  targetFrom,
} from './policy.ts';
import type { WrittenPolicy } from './policy-file.ts';

/** One change that makes the control plane's policies what files say. */
export type Step =
  | { readonly action: 'create'; readonly policy: string; readonly body: object; readonly lines: Lines }
  | {
      readonly action: 'update';
      readonly policy: string;
      readonly id: string;
      readonly body: object;
      readonly lines: Lines;
    }
  | {
      readonly action: 'attach' | 'detach';
      readonly policy: string;
      /** Undefined for a policy that is made before. */
      readonly id: string | undefined;
      readonly target: Target;
    };

/** What goes, and what comes. */
interface Lines {
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** What is to be done for files to be true, in the order in which it is to be done. @throws Failure */
export async function planFor(
  client: ApiClient,
  written: readonly WrittenPolicy[],
): Promise<readonly Step[]> {
  const present = await client.readAll(POLICY.path, policySchema);
  const attachmentsOf = await attachmentReader(client);
  const steps: Step[] = [];
  for (const policy of written) {
    const before = presentPolicy(present, policy.name);
    const step = stepFor(policy, before);
    if (step !== undefined) steps.push(step);
    if (policy.attach === undefined) continue;
    const wanted = await targetsOf(client, policy.attach);
    const attached = before === undefined ? undefined : await attachmentsOf(before.id);
    steps.push(...attaching({ policy: policy.name, id: before?.id }, wanted, attached?.all ?? []));
  }
  return steps;
}

/** The policy that a file means by this name; undefined where there is none. @throws Failure usage */
export function presentPolicy(present: readonly Policy[], name: string): Policy | undefined {
  const [first, ...others] = present.filter((policy) => policy.name === name);
  if (first !== undefined && others.length > 0)
    throw usage(
      `${1 + others.length} policies are called ${name}, and a file can mean one alone: rename or delete others (${listed([first, ...others].map(({ id }) => id))})`,
    );
  return first;
}

/** @returns undefined where nothing is to be done */
function stepFor({ name, enabled, rules }: WrittenPolicy, before: Policy | undefined): Step | undefined {
  const after = [enabled ? 'enabled' : 'disabled', ...rules.map(ruleLine)];
  if (before === undefined)
    return {
      action: 'create',
      policy: name,
      body: { name, enabled, rules },
      lines: { removed: [], added: after },
    };
  const now = [before.enabled ? 'enabled' : 'disabled', ...before.rules.map(ruleLine)];
  if (now.join('\n') === after.join('\n')) return undefined;
  const changed = { removed: without(now, after), added: without(after, now) };
  const isReordered = changed.removed.length === 0 && changed.added.length === 0;
  return {
    action: 'update',
    policy: name,
    id: before.id,
    body: { enabled, rules },
    lines: isReordered ? { removed: now.slice(1), added: after.slice(1) } : changed,
  };
}

/** What is in one list and not in the other; an item that is there twice has to be there twice. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return lines.filter((line) => {
    const index = left.indexOf(line);
    if (index === -1) return true;
    left.splice(index, 1);
    return false;
  });
}

/** What a file attaches a policy to, each once. @throws Failure */
export async function targetsOf(
  client: ApiClient,
  { agents = [], proxies = [], services = [] }: NonNullable<WrittenPolicy['attach']>,
): Promise<readonly Target[]> {
  const targets: Target[] = [];
  for (const options of [
    ...agents.map((agent) => ({ agent })),
    ...proxies.map((proxy) => ({ proxy })),
    ...services.map((service) => ({ service })),
  ]) {
    const target = await targetFrom(client, options);
    if (target !== undefined && !targets.some((each) => isSame(each, target))) targets.push(target);
  }
  return targets;
}

const isSame = (one: Attachment, other: Attachment): boolean =>
  one.targetType === other.targetType && one.targetId === other.targetId;

function attaching(
  of: { readonly policy: string; readonly id: string | undefined },
  wanted: readonly Target[],
  attached: readonly Attachment[],
): readonly Step[] {
  const more = wanted.filter((target) => !attached.some((each) => isSame(each, target)));
  const gone = attached.filter((each) => !wanted.some((target) => isSame(each, target)));
  return [
    ...more.map((target): Step => ({ action: 'attach', ...of, target })),
    ...gone.map((each): Step => ({ action: 'detach', ...of, target: { ...each, called: calledSo(each) } })),
  ];
}

const calledSo = ({ targetType, targetId }: Attachment): string =>
  `${targetType === 'token' ? 'credential' : targetType} ${targetId}`;

/** A step as people read it: a line that says what happens, and what goes and comes. */
export function linesOf(step: Step): readonly string[] {
  switch (step.action) {
    case 'create':
    case 'update':
      return [
        `${step.action === 'create' ? '+' : '~'} policy ${step.policy}`,
        ...step.lines.removed.map((line) => `  - ${line}`),
        ...step.lines.added.map((line) => `  + ${line}`),
      ];
    case 'attach':
      return [`+ policy ${step.policy} attached to ${step.target.called}`];
    case 'detach':
      return [`- policy ${step.policy} attached to ${step.target.called}`];
  }
}
