import * as z from 'zod';
import { type Agent, agentPath, agentReferred, agentSchema } from '../../api/agents.ts';
import { apiClient, nothingSchema } from '../../api/api-client.ts';
import { type Grant, grantSchema, grantsPath } from '../../api/grants.ts';
import { nameOrId } from '../../api/resource.ts';
import { serviceNamesIn } from '../../api/service-name.ts';
import { usage } from '../../failure.ts';
import { given, withQuery } from '../../json-in.ts';
import { updatedText } from '../option-flags.ts';
import { type NamedOptions, searched } from '../resource-commands.ts';
import { grantServices } from '../grants/grant-services.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { jsonText } from '../../output/json-text.ts';
import { plainLine } from '../../output/plain-line.ts';
import {
  type Column,
  type Shape,
  type Tone,
  type View,
  printDone,
  printList,
  printOne,
  printSecret,
} from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { publicJwk } from '../../public-jwk.ts';
import { confirm } from '../../secret-input/ask.ts';

/** `agents list` */
export const listAgents: Run<[], NamedOptions> = async (invocation, _, { name }) => {
  const client = await apiClient(invocation);
  const agents = await client.readAll(withQuery('/api/agents', { name }), agentSchema);
  printList(invocation, agents, searched(agentsShape(agents), 'agent', name));
};

const TONES: Readonly<Record<string, Tone>> = { suspended: 'yellow', deleted: 'red' };

/**
 * How agents are printed. By name, or by id where several have the name.
 * @param agents among which a name has to be one agent's
 */
function agentsShape(agents: readonly Agent[]): Shape<Agent> {
  const nameOf = nameOrId(agents);
  return {
    columns: [
      { title: 'name', of: ({ name }) => name },
      { title: 'status', of: ({ status }) => status, tone: ({ status }) => TONES[status], whole: true },
      { title: 'mcp', of: ({ mcpEnabled }) => (mcpEnabled ? 'on' : 'off'), whole: true },
      {
        title: 'last used',
        of: ({ lastUsedAt }, { time }) => (lastUsedAt === null ? 'never' : time(lastUsedAt)),
        whole: true,
      },
      { title: 'id', of: ({ id }) => id, whole: true },
      { title: 'description', of: ({ description }) => description, wide: true },
      { title: 'key', of: ({ keyPrefix }) => keyPrefix, wide: true },
      { title: 'sealing key', of: ({ sealingKeyThumbprint = '' }) => sealingKeyThumbprint, wide: true },
      { title: 'created', of: ({ createdAt }, { time }) => time(createdAt), wide: true },
    ],
    name: nameOf,
    none: 'there are no agents yet: svault agents create --name NAME',
  };
}

/** An agent as it is read alone, with its policies. */
const agentDetailSchema = agentSchema.extend({
  policies: z.array(
    z.looseObject({ name: z.string(), enabled: z.boolean(), ruleTypes: z.array(z.string()) }),
  ),
});
type AgentDetail = z.infer<typeof agentDetailSchema>;

type ShownAgent = AgentDetail & { readonly grants: readonly Grant[] };

/** `agents show AGENT`: the agent, what it is granted, and the policies that decide about its requests. */
export const showAgent: Run<[agent: string]> = async (invocation, [reference]) => {
  const client = await apiClient(invocation);
  const { id } = await agentReferred(client, reference);
  const [agent, grants] = await Promise.all([
    client.read(agentPath(id), agentDetailSchema),
    client.readAll(grantsPath(id), grantSchema),
  ]);
  const { columns } = agentsShape([agent]);
  printOne(
    invocation,
    { ...agent, grants },
    { columns: [...columns, GRANTS, POLICIES], name: () => reference },
  );
};

const GRANTS: Column<ShownAgent> = {
  title: 'grants',
  of: ({ grants }, view) =>
    grants.length === 0 ? 'none' : grants.map((grant) => grantLine(grant, view)).join('\n'),
};

const POLICIES: Column<ShownAgent> = {
  title: 'policies',
  of: ({ policies }) => (policies.length === 0 ? 'none' : policies.map(policyLine).join('\n')),
};

const policyLine = ({ name, enabled, ruleTypes }: AgentDetail['policies'][number]): string =>
  `${plainLine(name)}: ${enabled ? '' : 'off, '}${plainLine(ruleTypes.join(', '))}`;

function grantLine({ serviceName, status, grantExpiresAt }: Grant, { time }: View): string {
  const end = grantExpiresAt === null ? 'until revoked' : `until ${time(grantExpiresAt)}`;
  return `${plainLine(serviceName)}: ${status === 'expired' ? 'expired, ' : ''}${end}`;
}

const madeSchema = z.looseObject({ agent: agentSchema, apiKey: z.string().regex(/^svagent_[!-~]+$/) });
type Made = z.infer<typeof madeSchema>;

/** `agents create`: prints the key once on stdout, even where the grants that follow fail. */
export const createAgent: Run<
  [],
  EditOptions & { readonly grants?: string; readonly allowMissing?: true }
> = async (invocation, _, options) => {
  const { name, grants, allowMissing, description, mcp, sealingKey } = options;
  if (name === undefined || name.trim() === '') throw usage('an agent needs a name: --name');
  const services = grants === undefined ? [] : serviceNamesIn(grants);
  const sealingKeyThumbprint = sealingKey === undefined ? undefined : await thumbprintOf(sealingKey);
  const body = given({ name, description, mcpEnabled: mcp, sealingKeyThumbprint });
  const client = await apiClient(invocation);
  const made = await client.change({
    method: 'POST',
    path: '/api/agents',
    body,
    schema: madeSchema,
    dryAnswer: imagined(name),
  });
  if (client.dryRun)
    return void (await grantServices(invocation, client, made.agent, { services, allowMissing }));
  sayMade(invocation, made);
  let granted: readonly Grant[] = [];
  try {
    const granting = { services, allowMissing };
    const { done, failure } = await grantServices(invocation, client, made.agent, granting);
    granted = done;
    if (failure !== undefined) throw failure;
  } finally {
    if (invocation.flags.format === 'json') invocation.terminal.out(jsonText({ ...made, grants: granted }));
  }
};

function sayMade(invocation: Invocation, answer: Made): void {
  const { id, name } = answer.agent;
  const said = `${name} (${id}) is created`;
  // As JSON it is printed with the grants that follow.
  if (invocation.flags.format === 'json') return say(invocation, said);
  const secret = { called: 'key', note: 'which is shown only once', text: answer.apiKey };
  printSecret(invocation, { said, name, secret });
}

const imagined = (name: string): Made => ({
  agent: {
    id: 'ID',
    name,
    description: '',
    status: 'active',
    mcpEnabled: false,
    createdAt: '',
    lastUsedAt: null,
    keyPrefix: '',
  },
  apiKey: '',
});

interface EditOptions {
  readonly name?: string;
  readonly description?: string;
  readonly mcp?: boolean;
  readonly sealingKey?: string;
}

/** `agents edit AGENT` */
export const editAgent: Run<[agent: string], EditOptions> = async (invocation, [reference], options) => {
  const { name, description, mcp, sealingKey } = options;
  const sealingKeyThumbprint =
    sealingKey === undefined ? undefined : sealingKey === 'none' ? null : await thumbprintOf(sealingKey);
  const body = given({ name, description, mcpEnabled: mcp, sealingKeyThumbprint });
  if (Object.keys(body).length === 0)
    throw usage('nothing to change: give --name, --description, --mcp, --no-mcp or --sealing-key');
  const client = await apiClient(invocation);
  const agent = await agentReferred(client, reference);
  const path = agentPath(agent.id);
  const answer = await client.change({ method: 'PATCH', path, body, schema: agentSchema });
  const called = answer.name === agent.name ? agent.name : `${agent.name}, now ${answer.name},`;
  const isRenamed = name !== undefined && reference !== agent.id;
  printDone(invocation, {
    said: updatedText(called, body),
    answer,
    name: isRenamed ? answer.name : reference,
  });
};

/**
 * The RFC 7638 thumbprint of the public key that sealed credentials are for.
 * @param text as `publicJwk` takes it
 * @throws Failure usage
 */
async function thumbprintOf(text: string): Promise<string> {
  const { jwkThumbprint } = await import('@svault/shared/sealed');
  return jwkThumbprint(await publicJwk(text));
}

/** `agents rm AGENT` */
export const removeAgent: Run<[agent: string], { readonly yes?: true }> = async (
  invocation,
  [reference],
  options,
) => {
  const client = await apiClient(invocation);
  const { id, name } = await agentReferred(client, reference);
  await confirm(invocation, `Delete the agent ${name} (${id}), its key and its grants, for good?`, options);
  await client.change({ method: 'DELETE', path: agentPath(id), schema: nothingSchema });
  const said = `${name} (${id}) is deleted, with its key and its grants`;
  printDone(invocation, { said, answer: { id, name, status: 'deleted' }, name: reference });
};

/** `agents suspend AGENT` and `agents resume AGENT`; repeating one changes nothing and prints the same message. */
const settingStatus =
  (verb: 'suspend' | 'resume', saidOf: (name: string, reference: string) => string): Run<[agent: string]> =>
  async (invocation, [reference]) => {
    const client = await apiClient(invocation);
    const { id, name } = await agentReferred(client, reference);
    const path = `${agentPath(id)}/${verb}`;
    const answer = await client.change({ method: 'POST', path, schema: agentSchema });
    // As it was given: the name may be several agents'.
    printDone(invocation, { said: saidOf(name, reference), answer, name: reference });
  };

export const suspendAgent = settingStatus(
  'suspend',
  (name, reference) =>
    `${name} is suspended: all its requests are refused until svault agents resume ${reference}`,
);
export const resumeAgent = settingStatus('resume', (name) => `${name} is active: it gets what it is granted`);

/** `agents rotate-key AGENT` */
export const rotateAgentKey: Run<[agent: string], { readonly yes?: true }> = async (
  invocation,
  [reference],
  options,
) => {
  const client = await apiClient(invocation);
  const { id, name } = await agentReferred(client, reference);
  await confirm(invocation, `Give ${name} (${id}) a new key? Its present one ends at once.`, options);
  const path = `${agentPath(id)}/rotate-key`;
  const answer = await client.change({ method: 'POST', path, schema: madeSchema });
  printSecret(invocation, {
    said: `the former key of ${name} has ended`,
    answer,
    name: reference,
    secret: { called: 'new key', note: 'which is shown only once', text: answer.apiKey },
  });
};

const revealedSchema = madeSchema.pick({ apiKey: true });

/** `agents reveal-key AGENT` */
export const revealAgentKey: Run<[agent: string]> = async (invocation, [reference]) => {
  const client = await apiClient(invocation);
  const { id, name } = await agentReferred(client, reference);
  const path = `${agentPath(id)}/reveal-key`;
  const answer = await client.change({ method: 'POST', path, schema: revealedSchema });
  printSecret(invocation, {
    said: `the log records that the key of ${name} was shown`,
    answer,
    name: reference,
    secret: { called: 'key', text: answer.apiKey },
  });
};
