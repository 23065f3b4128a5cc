import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';
import type { Agent, AgentChanges, AgentStatus } from './agent.ts';

/** An agent's key as it is kept: found by its hash, shown again from the wrapped form. */
export interface StoredAgentKey {
  /** SHA-256, lower-case hex; unique over all accounts. */
  readonly keyHash: string;
  readonly keyPrefix: string;
  /** base64url of the key under the master key. */
  readonly keyWrapped: string;
}

export interface AgentStore {
  add(agent: Agent & StoredAgentKey): Promise<void>;
  /** Deleted agents too: the log names them. */
  get(vaultId: Id<'vlt'>, id: string): Promise<Agent | undefined>;
  /** Oldest first. @param status only these; undefined: all but deleted ones */
  list(vaultId: Id<'vlt'>, status: AgentStatus | undefined, page: PageRequest): Promise<Page<Agent>>;
  /** Oldest first; deleted ones too. */
  listAll(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<Agent>>;
  update(vaultId: Id<'vlt'>, id: Id<'agt'>, changes: AgentChanges): Promise<void>;
  setStatus(vaultId: Id<'vlt'>, id: Id<'agt'>, status: 'active' | 'suspended'): Promise<void>;
  /** The hash stays, so that the key is answered as inactive; the wrapped key is erased. */
  markDeleted(vaultId: Id<'vlt'>, id: Id<'agt'>): Promise<void>;
  setKey(vaultId: Id<'vlt'>, id: Id<'agt'>, key: StoredAgentKey): Promise<void>;
  /** Undefined for a deleted agent. */
  wrappedKey(vaultId: Id<'vlt'>, id: Id<'agt'>): Promise<string | undefined>;
}
