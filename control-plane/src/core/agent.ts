import { type Id, hashKey, isWellFormedKey, keyDisplayPrefix } from '@svault/shared';
import type { NamedPageRequest, Page, PageRequest } from './paging.ts';

/** Specification, "Agent". */
export const AGENT_STATUSES = ['active', 'suspended', 'deleted'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

export interface Agent {
  readonly id: Id<'agt'>;
  readonly vaultId: Id<'vlt'>;
  readonly ownerId: Id<'usr'>;
  readonly name: string;
  readonly description: string;
  readonly status: AgentStatus;
  readonly mcpEnabled: boolean;
  /** RFC 7638 SHA-256 thumbprint of the key that sealed credentials are encrypted to. */
  readonly sealingKeyThumbprint: string | undefined;
  /** The first characters of its key, by which an owner recognises it. */
  readonly keyPrefix: string;
  readonly createdAt: string;
  /** Coalesced to one write a minute. */
  readonly lastUsedAt: string | undefined;
}

/** Undefined members stay; a null thumbprint is removed. */
export interface AgentChanges {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly mcpEnabled?: boolean | undefined;
  readonly sealingKeyThumbprint?: string | null | undefined;
}

/** An agent's key as it is stored: found by its hash, revealed from the wrapped form. */
interface StoredAgentKey {
  /** SHA-256, lower-case hex; unique over all accounts. */
  readonly keyHash: string;
  readonly keyPrefix: string;
  /** base64url of the key under the root key. */
  readonly keyWrapped: string;
}

export interface AgentStore {
  /** The agent that has this name, or one that people would take for it (`nameKey`); never a deleted one. */
  named(vaultId: Id<'vlt'>, name: string): Promise<Agent | undefined>;
  /** Throws where another agent has the name. */
  add(agent: Agent & StoredAgentKey): Promise<void>;
  /** Deleted agents too: the log names them. */
  get(vaultId: Id<'vlt'>, id: string): Promise<Agent | undefined>;
  /** Oldest first. @param status only these; undefined: all but deleted ones */
  list(vaultId: Id<'vlt'>, status: AgentStatus | undefined, page: NamedPageRequest): Promise<Page<Agent>>;
  /** Oldest first; deleted ones too. */
  listAll(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<Agent>>;
  update(vaultId: Id<'vlt'>, id: Id<'agt'>, changes: AgentChanges): Promise<void>;
  setStatus(vaultId: Id<'vlt'>, id: Id<'agt'>, status: 'active' | 'suspended'): Promise<void>;
  /** The hash stays, so that the key is denied with AGENT_INACTIVE; the wrapped key is erased, and the name is free. */
  markDeleted(vaultId: Id<'vlt'>, id: Id<'agt'>): Promise<void>;
  setKey(vaultId: Id<'vlt'>, id: Id<'agt'>, key: StoredAgentKey): Promise<void>;
  /** Undefined for a deleted agent. */
  wrappedKey(vaultId: Id<'vlt'>, id: Id<'agt'>): Promise<string | undefined>;
}

/** An agent's credential as it is looked up, without the text itself; `prefix` has its first characters. */
export type AgentCredential =
  /** An agent's own key, `svagent_…`. */
  | { readonly kind: 'key'; readonly hash: string; readonly prefix?: string }
  /** An access token of an OAuth session, `svsess_…`, valid at its audience only (RFC 8707). */
  | {
      readonly kind: 'session';
      readonly hash: string;
      readonly prefix?: string;
      readonly audience: string;
    };

/** @returns undefined where the text does not have the form of an agent's key */
export function agentKeyCredential(text: string): AgentCredential | undefined {
  return isWellFormedKey('svagent', text)
    ? { kind: 'key', hash: hashKey(text), prefix: keyDisplayPrefix(text) }
    : undefined;
}

/**
 * @param audience of the endpoint that received the token
 * @returns undefined where the text does not have the form of a session's access token
 */
export function sessionCredential(text: string, audience: string): AgentCredential | undefined {
  return isWellFormedKey('svsess', text)
    ? { kind: 'session', hash: hashKey(text), prefix: keyDisplayPrefix(text), audience }
    : undefined;
}
