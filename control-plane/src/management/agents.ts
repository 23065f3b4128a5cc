import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, formatTime, newId } from '@svault/shared';
import type { Actor } from '../core/actor.ts';
import type { Agent, AgentChanges } from '../core/agent.ts';
import { ownOf, recordChange } from '../core/change.ts';
import { ApiError, orNotFound } from '../core/errors.ts';
import type { Change, Stores } from '../core/stores.ts';
import { requireFree } from './free-name.ts';
import { makeStoredKey, revealStoredKey } from './stored-keys.ts';
import { detachAll } from './policy-attachments.ts';

interface NewAgent extends AgentChanges {
  readonly name: string;
}

/** (new) → active. The key is in the answer. @throws ApiError CONFLICT where another agent has the name */
export async function createAgent(
  change: Change,
  { name, description = '', mcpEnabled = false, sealingKeyThumbprint }: NewAgent,
  { clock, masterKeys }: { readonly clock: Clock; readonly masterKeys: MasterKeys },
): Promise<{ readonly agent: Agent; readonly apiKey: string }> {
  requireFree('agent', await change.agents.named(change.actor.vaultId, name));
  const id = newId('agt');
  const { key: apiKey, stored } = makeStoredKey(id, masterKeys);
  const agent: Agent = {
    id,
    vaultId: change.actor.vaultId,
    ownerId: change.actor.userId,
    name,
    description,
    status: 'active',
    mcpEnabled,
    sealingKeyThumbprint: sealingKeyThumbprint ?? undefined,
    keyPrefix: stored.keyPrefix,
    createdAt: formatTime(clock.now()),
    lastUsedAt: undefined,
  };
  await change.agents.add({ ...agent, ...stored });
  await recordChange(change, 'AGENT_CREATED', { agentId: id, detail: { name } });
  return { agent, apiKey };
}

/** @throws ApiError CONFLICT where another agent has the name */
export async function updateAgent(change: Change, id: string, changes: AgentChanges): Promise<Agent> {
  const agent = await existingAgentOf(change, change.actor, id);
  const members = Object.keys(changes);
  if (members.length === 0) return agent;
  if (changes.name !== undefined)
    requireFree('agent', await change.agents.named(agent.vaultId, changes.name), id);
  await change.agents.update(agent.vaultId, agent.id, changes);
  await recordChange(change, 'AGENT_UPDATED', { agentId: agent.id, detail: { members } });
  return ownOf(change.agents, change.actor, id);
}

/**
 * active → suspended, or suspended → active. Setting the present status changes nothing and writes no event, so that a
 * retry is safe.
 */
export async function setAgentStatus(
  change: Change,
  id: string,
  status: 'active' | 'suspended',
): Promise<Agent> {
  const agent = await existingAgentOf(change, change.actor, id);
  if (agent.status === status) return agent;
  await change.agents.setStatus(agent.vaultId, agent.id, status);
  const eventType = status === 'active' ? 'AGENT_RESUMED' : 'AGENT_SUSPENDED';
  await recordChange(change, eventType, { agentId: agent.id });
  return { ...agent, status };
}

/**
 * active or suspended → deleted, for good, with its grants. Its key can no longer be revealed; the key's hash stays, so that
 * a request with it is denied with AGENT_INACTIVE. Deleting a deleted agent changes nothing.
 */
export async function deleteAgent(change: Change, id: string): Promise<void> {
  const { vaultId, id: agentId, status } = await ownOf(change.agents, change.actor, id);
  if (status === 'deleted') return;
  const grants = await change.grants.removeOfAgent(vaultId, agentId);
  await detachAll(change, { type: 'agent', id: agentId });
  await change.approvals.removeOf(change.actor.vaultId, { callerId: agentId });
  await change.agents.markDeleted(vaultId, agentId);
  await recordChange(change, 'AGENT_DELETED', { agentId, detail: { grants } });
}

/** Reveals the agent's key again, with an event. */
export async function revealAgentKey(change: Change, id: string, masterKeys: MasterKeys): Promise<string> {
  const { vaultId, id: agentId } = await existingAgentOf(change, change.actor, id);
  const wrapped = orNotFound(await change.agents.wrappedKey(vaultId, agentId));
  await recordChange(change, 'KEY_REVEALED', { agentId });
  return revealStoredKey(agentId, wrapped, masterKeys);
}

/** Replaces the agent's key; the previous one is unknown at once. */
export async function rotateAgentKey(
  change: Change,
  id: string,
  masterKeys: MasterKeys,
): Promise<{ readonly agent: Agent; readonly apiKey: string }> {
  const agent = await existingAgentOf(change, change.actor, id);
  const { key: apiKey, stored } = makeStoredKey(agent.id, masterKeys);
  await change.agents.setKey(agent.vaultId, agent.id, stored);
  await recordChange(change, 'KEY_ROTATED', { agentId: agent.id });
  return { agent: { ...agent, keyPrefix: stored.keyPrefix }, apiKey };
}

/** @throws ApiError NOT_FOUND; CONFLICT for a deleted agent, which nothing restores */
export async function existingAgentOf(
  { agents }: Pick<Stores, 'agents'>,
  actor: Actor,
  id: string,
): Promise<Agent> {
  const agent = await ownOf(agents, actor, id);
  if (agent.status === 'deleted') throw new ApiError('CONFLICT', 'This agent is deleted.');
  return agent;
}
