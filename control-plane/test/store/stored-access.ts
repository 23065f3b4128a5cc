import { type Clock, type Id, formatTime, newId } from '@svault/shared';
import type { AgentCredential } from '../../src/access/agent-credential.ts';
import type { NewAuditEvent } from '../../src/audit/audit-event.ts';
import type { StandingAccess } from '../../src/audit/audit-writer.ts';
import type { Database } from '../../src/store/database.ts';

/** An account with an agent that may have `github`, and a webhook that has answered. */
export interface StoredAccess {
  readonly vaultId: Id<'vlt'>;
  readonly userId: Id<'usr'>;
  readonly agentId: Id<'agt'>;
  /** The agent's key. */
  readonly credential: AgentCredential;
  readonly provided: StandingAccess;
  event(serviceName: string): NewAuditEvent;
}

export async function storeAccess({ unitOfWork }: Database, clock: Clock): Promise<StoredAccess> {
  const now = formatTime(clock.now());
  const [vaultId, userId, agentId, grantId] = [newId('vlt'), newId('usr'), newId('agt'), newId('grt')];
  const [keyHash, webhookId] = [`hash of ${agentId}`, `whk of ${vaultId}`];
  const credential: AgentCredential = { kind: 'key', hash: keyHash };
  await unitOfWork.run(vaultId, async ({ agents, grants, users, vaults, webhookLinks }) => {
    await vaults.add({ id: vaultId, createdAt: now });
    await users.add({ id: userId, vaultId, email: userId, role: 'admin', isOwner: true, createdAt: now });
    await agents.add({
      id: agentId,
      vaultId,
      ownerId: userId,
      name: 'a',
      description: '',
      status: 'active',
      mcpEnabled: false,
      sealingKeyThumbprint: undefined,
      createdAt: now,
      lastUsedAt: undefined,
      keyHash,
      keyPrefix: 'svagent_',
      keyWrapped: 'wrapped',
    });
    await grants.addAll([
      {
        id: grantId,
        vaultId,
        agentId,
        serviceName: 'github',
        grantExpiresAt: undefined,
        refreshPolicy: 'none',
        sourceGroupId: undefined,
        createdAt: now,
      },
    ]);
    await webhookLinks.insert({
      vaultId,
      webhookId,
      url: 'https://vault.example.org',
      key: { id: 'k1', wrapped: 'wrapped' },
      pendingKey: undefined,
      capabilities: [],
      boundAt: now,
      boundBy: userId,
      lastSeenAt: now,
      latencyMs: 1,
    });
  });
  return {
    vaultId,
    userId,
    agentId,
    credential,
    provided: { credential, withMcpOn: false, grantId, webhookId, policyRevision: 0, uses: [] },
    event: (serviceName) => ({
      vaultId,
      agentId,
      eventType: 'AGENT_CREDENTIAL_ACCESS',
      outcome: 'success',
      serviceName,
    }),
  };
}
