import type { Id } from '@svault/shared';

/** Specification, "Agent": the three states. */
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
  /** RFC 7638 SHA-256 thumbprint of the key that `sealed` records are encrypted to for this agent. */
  readonly sealingKeyThumbprint: string | undefined;
  /** The first characters of its key, to tell keys apart. */
  readonly keyPrefix: string;
  readonly createdAt: string;
  /** Coalesced to one write a minute. */
  readonly lastUsedAt: string | undefined;
}

/** What an owner may change; undefined members stay as they are, a null thumbprint is taken away. */
export interface AgentChanges {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly mcpEnabled?: boolean | undefined;
  readonly sealingKeyThumbprint?: string | null | undefined;
}
