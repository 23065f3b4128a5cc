import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, formatTime, newId } from '@svault/shared';
import { type Actor, eventBy } from '../core/actor.ts';
import type { Agent, AgentChanges } from '../core/agent.ts';
import { orNotFound, ApiError } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';
import { makeStoredKey, revealStoredKey } from './stored-keys.ts';
import { detachAll } from './policy-attachments.ts';

type AgentStores = Pick<Stores, 'agents' | 'audit'>;

interface NewAgent {
  readonly name: string;
  readonly description?: string | undefined;
  readonly mcpEnabled?: boolean | undefined;
  readonly sealingKeyThumbprint?: string | undefined;
}

/** (new) → active. The key is in the answer. */
export async function createAgent(
  stores: AgentStores,
  actor: Actor,
  input: NewAgent,
  { clock, masterKeys }: { readonly clock: Clock; readonly masterKeys: MasterKeys },
): Promise<{ readonly agent: Agent; readonly apiKey: string }> {
  const id = newId('agt');
  const { key: apiKey, stored } = makeStoredKey(id, masterKeys);
  const agent: Agent = {
    id,
    vaultId: actor.vaultId,
    ownerId: actor.userId,
    name: input.name,
    description: input.description ?? '',
    status: 'active',
    mcpEnabled: input.mcpEnabled ?? false,
    sealingKeyThumbprint: input.sealingKeyThumbprint,
    keyPrefix: stored.keyPrefix,
    createdAt: formatTime(clock.now()),
    lastUsedAt: undefined,
  };
  await stores.agents.add({ ...agent, ...stored });
  await stores.audit.append(eventBy(actor, 'AGENT_CREATED', { agentId: id, detail: { name: input.name } }));
  return { agent, apiKey };
}

export async function updateAgent(
  stores: AgentStores,
  actor: Actor,
  id: string,
  changes: AgentChanges,
): Promise<Agent> {
  const { id: agentId } = await existingAgentOf(stores, actor, id);
  const members = Object.keys(changes);
  if (members.length > 0) {
    await stores.agents.update(actor.vaultId, agentId, changes);
    await stores.audit.append(eventBy(actor, 'AGENT_UPDATED', { agentId, detail: { members } }));
  }
  return agentOf(stores, actor, agentId);
}

/**
 * active → suspended, or suspended → active. Setting the present status changes nothing and writes no event, so that a
 * retry is safe.
 */
export async function setAgentStatus(
  stores: AgentStores,
  actor: Actor,
  id: string,
  status: 'active' | 'suspended',
): Promise<Agent> {
  const agent = await existingAgentOf(stores, actor, id);
  if (agent.status === status) return agent;
  await stores.agents.setStatus(actor.vaultId, agent.id, status);
  const eventType = status === 'active' ? 'AGENT_RESUMED' : 'AGENT_SUSPENDED';
  await stores.audit.append(eventBy(actor, eventType, { agentId: agent.id }));
  return { ...agent, status };
}

/**
 * active or suspended → deleted, for good, with its grants. Its key can no longer be revealed; the key's hash stays, so that
 * a request with it is denied with AGENT_INACTIVE. Deleting a deleted agent changes nothing.
 */
export async function deleteAgent(
  stores: Pick<Stores, 'agents' | 'audit' | 'grants' | 'policies'>,
  actor: Actor,
  id: string,
): Promise<void> {
  const agent = await agentOf(stores, actor, id);
  if (agent.status === 'deleted') return;
  const grants = await stores.grants.removeOfAgent(actor.vaultId, agent.id);
  await detachAll(stores, actor, { type: 'agent', id: agent.id });
  await stores.agents.markDeleted(actor.vaultId, agent.id);
  await stores.audit.append(eventBy(actor, 'AGENT_DELETED', { agentId: agent.id, detail: { grants } }));
}

/** Reveals the agent's key again, with an event. */
export async function revealAgentKey(
  stores: AgentStores,
  actor: Actor,
  id: string,
  masterKeys: MasterKeys,
): Promise<string> {
  const { id: agentId } = await existingAgentOf(stores, actor, id);
  const wrapped = orNotFound(await stores.agents.wrappedKey(actor.vaultId, agentId));
  const apiKey = revealStoredKey(agentId, wrapped, masterKeys);
  await stores.audit.append(eventBy(actor, 'KEY_REVEALED', { agentId }));
  return apiKey;
}

/** Replaces the agent's key; the previous one is unknown at once. */
export async function rotateAgentKey(
  stores: AgentStores,
  actor: Actor,
  id: string,
  masterKeys: MasterKeys,
): Promise<{ readonly agent: Agent; readonly apiKey: string }> {
  const agent = await existingAgentOf(stores, actor, id);
  const { key: apiKey, stored } = makeStoredKey(agent.id, masterKeys);
  await stores.agents.setKey(actor.vaultId, agent.id, stored);
  await stores.audit.append(eventBy(actor, 'KEY_ROTATED', { agentId: agent.id }));
  return { agent: { ...agent, keyPrefix: stored.keyPrefix }, apiKey };
}

/** @throws ApiError NOT_FOUND */
export const agentOf = async (stores: Pick<Stores, 'agents'>, actor: Actor, id: string): Promise<Agent> =>
  orNotFound(await stores.agents.get(actor.vaultId, id));

/** @throws ApiError NOT_FOUND; CONFLICT for a deleted agent, which nothing restores */
export async function existingAgentOf(
  stores: Pick<Stores, 'agents'>,
  actor: Actor,
  id: string,
): Promise<Agent> {
  const agent = await agentOf(stores, actor, id);
  if (agent.status === 'deleted') throw new ApiError('CONFLICT', 'This agent is deleted.');
  return agent;
}
