import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import type { ApiClient } from '../../api/api-client.ts';
import { pathOf, referred } from '../../api/resource.ts';
import { AGENT, POLICY, PROXY } from '../../api/resources.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { jsonIn } from '../../json-in.ts';

const ruleSchema = z.looseObject({ type: z.string() });

/** A policy, as the control plane describes it. */
export const policySchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  enabled: z.boolean(),
  rules: z.array(ruleSchema),
  updatedAt: z.string(),
});
export type Policy = z.infer<typeof policySchema>;

/** What a policy is attached to, as the control plane describes it. */
export const attachmentSchema = z.looseObject({
  targetType: z.enum(['agent', 'proxy', 'token']),
  targetId: z.string(),
});
export type Attachment = z.infer<typeof attachmentSchema>;

export const attachmentsPath = (policyId: string): string => `${pathOf(POLICY, policyId)}/attachments`;

/** What a policy is attached to, as people name it. */
export interface Target extends Attachment {
  readonly called: string;
}

/** Flags that name one target. */
export interface TargetOptions {
  readonly agent?: string;
  readonly proxy?: string;
  readonly service?: string;
}

/** @returns undefined where no flag is given. @throws Failure */
export async function targetFrom(
  client: ApiClient,
  { agent, proxy, service }: TargetOptions,
): Promise<Target | undefined> {
  if (agent !== undefined) {
    const { id, name } = await agentReferred(client, agent);
    return { targetType: 'agent', targetId: id, called: `agent ${name}` };
  }
  if (proxy !== undefined) {
    const { id, name } = await referred(client, PROXY, proxy);
    return { targetType: 'proxy', targetId: id, called: `proxy ${name}` };
  }
  if (service === undefined) return undefined;
  const name = serviceNameFrom(service);
  return { targetType: 'token', targetId: name, called: `credential ${name}` };
}

/** How policies say what they are attached to, by names that apply takes. */
export interface AttachedNames {
  readonly agents: readonly string[];
  readonly proxies: readonly string[];
  readonly services: readonly string[];
}

const namedSchema = z.looseObject({ id: z.string(), name: z.string() });

/** Reads the names of agents and proxies once, for the attachments of any number of policies. */
export async function attachmentReader(
  client: ApiClient,
): Promise<(policyId: string) => Promise<{ all: readonly Attachment[]; names: AttachedNames }>> {
  const [agents, proxies] = await Promise.all([
    client.readAll(AGENT.path, namedSchema),
    client.readAll(PROXY.path, namedSchema),
  ]);
  const nameIn = (items: readonly z.infer<typeof namedSchema>[], id: string): string => {
    const name = items.find((item) => item.id === id)?.name ?? id;
    return items.filter((item) => item.name === name).length === 1 ? name : id;
  };
  return async (policyId) => {
    const all = await client.readAll(attachmentsPath(policyId), attachmentSchema);
    const idsOf = (type: Attachment['targetType']): string[] =>
      all.filter(({ targetType }) => targetType === type).map(({ targetId }) => targetId);
    return {
      all,
      names: {
        agents: idsOf('agent').map((id) => nameIn(agents, id)),
        proxies: idsOf('proxy').map((id) => nameIn(proxies, id)),
        services: idsOf('token'),
      },
    };
  };
}

/** A rule in one line, for people and to compare: its type first, then its settings by name. */
export function ruleLine({ type, ...settings }: z.infer<typeof ruleSchema>): string {
  const text = JSON.stringify(sorted(settings));
  return text === '{}' ? type : `${type} ${text}`;
}

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
};

/** As a file has it: what the control plane knows of a policy by itself is left out. */
export const withoutOwnMembers = ({ name, enabled, rules }: Policy) => ({
  name,
  ...(!enabled && { enabled }),
  rules: jsonIn(JSON.stringify(rules)) as Policy['rules'],
});
