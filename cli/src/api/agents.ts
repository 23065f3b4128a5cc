import { isId } from '@svault/shared';
import { z } from 'zod';
import { Failure, orElse, usage } from '../failure.ts';
import { unique } from '../one-by-one.ts';
import { listed } from '../output/plain-line.ts';
import type { ApiClient } from './api-client.ts';

/** An agent, as the control plane describes it. */
export const agentSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  status: z.string(),
  mcpEnabled: z.boolean(),
  sealingKeyThumbprint: z.string().optional(),
  createdAt: z.string(),
  lastUsedAt: z.string().nullable(),
  keyPrefix: z.string(),
});
export type Agent = z.infer<typeof agentSchema>;

/** @param id of an agent */
export const agentPath = (id: string): string => `/api/agents/${encodeURIComponent(id)}`;

const namedSchema = z.looseObject({ id: z.string(), name: z.string() });
export type AgentReference = z.infer<typeof namedSchema>;

/**
 * Which agent is meant, and what it is called. An id goes before a name, so that no agent can be called by another's id; a
 * deleted agent has its id alone, since its name may be another's by now.
 * @param reference an id or a name; under `--dry-run` no request is sent, and a name replaces its id
 * @throws Failure usage for a name that several have, with their ids; notFound
 */
export async function agentReferred(client: ApiClient, reference: string): Promise<AgentReference> {
  if (reference.trim() === '') throw usage('an empty text names no agent; give its name or its id');
  if (client.dryRun) return { id: reference, name: reference };
  return (await agentWithId(client, reference)) ?? agentCalled(client, reference);
}

async function agentWithId(client: ApiClient, reference: string): Promise<AgentReference | undefined> {
  if (!isId('agt', reference)) return undefined;
  return orElse<AgentReference | undefined>(client.read(`/api/agents/${reference}`, namedSchema), (error) => {
    if (error.exit !== 'notFound') throw error;
    return undefined;
  });
}

/** Two texts that look the same are the same name, in any Unicode form that a terminal sends. */
async function agentCalled(client: ApiClient, reference: string): Promise<AgentReference> {
  const wanted = reference.normalize();
  const agents = await client.readAll('/api/agents', namedSchema);
  const [first, ...others] = agents.filter(({ name }) => name.normalize() === wanted);
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined)
    throw usage(
      `${1 + others.length} agents are called ${reference}; give the id of the one that is meant: ${listed([first, ...others].map(({ id }) => id))}`,
    );
  const alike = unique(agents.map(({ name }) => name).filter((name) => looksLike(name, reference)));
  throw new Failure(
    'notFound',
    alike.length === 0
      ? `there is no agent ${reference}; svault agents list shows those there are`
      : `there is no agent ${reference}; like it: ${listed(alike)}`,
  );
}

function looksLike(name: string, reference: string): boolean {
  const [one, other] = [name.toLowerCase(), reference.toLowerCase()];
  return one.startsWith(other) || other.startsWith(one);
}
