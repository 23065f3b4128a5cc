import { type Clock, formatTime, newId } from '@svault/shared';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Actor, eventBy } from '../core/actor.ts';
import { notFound, refusal } from '../core/errors.ts';
import { detachAll } from './detach-all.ts';
import type { Stores } from '../core/stores.ts';
import { makeAgentKey, openAgentKey } from './agent-keys.ts';
import type { Agent, AgentChanges } from '../core/agent.ts';

type AgentStores = Pick<Stores, 'agents' | 'audit'>;

export interface NewAgent {
  readonly name: string;
  readonly description?: string | undefined;
  readonly mcpEnabled?: boolean | undefined;
  readonly sealingKeyThumbprint?: string | undefined;
}

/** (new) → active, with a key that is shown here once. */
export async function createAgent(
  stores: AgentStores,
  actor: Actor,
  input: NewAgent,
  { clock, masterKeys }: { readonly clock: Clock; readonly masterKeys: MasterKeys },
): Promise<{ readonly agent: Agent; readonly apiKey: string }> {
  const id = newId('agt');
  const { apiKey, stored } = makeAgentKey(id, masterKeys);
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
  const { id: agentId } = await agentToChange(stores, actor, id);
  const members = Object.keys(changes);
  if (members.length > 0) {
    await stores.agents.update(actor.vaultId, agentId, changes);
    await stores.audit.append(eventBy(actor, 'AGENT_UPDATED', { agentId, detail: { members } }));
  }
  return agentOf(stores, actor, agentId);
}

/**
 * active → suspended, or suspended → active. Asking for the state that is there changes nothing and writes no
 * event, so that a repeat after a lost answer is safe.
 */
export async function setAgentStatus(
  stores: AgentStores,
  actor: Actor,
  id: string,
  status: 'active' | 'suspended',
): Promise<Agent> {
  const agent = await agentToChange(stores, actor, id);
  if (agent.status === status) return agent;
  await stores.agents.setStatus(actor.vaultId, agent.id, status);
  const eventType = status === 'active' ? 'AGENT_RESUMED' : 'AGENT_SUSPENDED';
  await stores.audit.append(eventBy(actor, eventType, { agentId: agent.id }));
  return { ...agent, status };
}

/**
 * active or suspended → deleted, for good. Its grants go with it and its key can no longer be revealed; the key's
 * hash stays, so that its bearer hears AGENT_INACTIVE. Deleting a deleted agent changes nothing.
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

/** The agent's key once more; an audited action. */
export async function revealAgentKey(
  stores: AgentStores,
  actor: Actor,
  id: string,
  masterKeys: MasterKeys,
): Promise<string> {
  const { id: agentId } = await agentToChange(stores, actor, id);
  const wrapped = await stores.agents.wrappedKey(actor.vaultId, agentId);
  if (wrapped === undefined) throw notFound();
  const apiKey = openAgentKey(agentId, wrapped, masterKeys);
  await stores.audit.append(eventBy(actor, 'KEY_REVEALED', { agentId }));
  return apiKey;
}

/** A new key in place of the former one, which is unknown from the moment this is answered. */
export async function rotateAgentKey(
  stores: AgentStores,
  actor: Actor,
  id: string,
  masterKeys: MasterKeys,
): Promise<{ readonly agent: Agent; readonly apiKey: string }> {
  const agent = await agentToChange(stores, actor, id);
  const { apiKey, stored } = makeAgentKey(agent.id, masterKeys);
  await stores.agents.setKey(actor.vaultId, agent.id, stored);
  await stores.audit.append(eventBy(actor, 'KEY_ROTATED', { agentId: agent.id }));
  return { agent: { ...agent, keyPrefix: stored.keyPrefix }, apiKey };
}

/** @throws AppError NOT_FOUND */
export async function agentOf(stores: Pick<Stores, 'agents'>, actor: Actor, id: string): Promise<Agent> {
  const agent = await stores.agents.get(actor.vaultId, id);
  if (agent === undefined) throw notFound();
  return agent;
}

/** @throws AppError NOT_FOUND; CONFLICT for a deleted one, which nothing brings back */
export async function agentToChange(
  stores: Pick<Stores, 'agents'>,
  actor: Actor,
  id: string,
): Promise<Agent> {
  const agent = await agentOf(stores, actor, id);
  if (agent.status === 'deleted') throw refusal('CONFLICT', 'This agent is deleted.');
  return agent;
}
