import { type Clock, type Id, formatTime, hashKey, newId, newKey } from '@svault/shared';
import { type AgentCredential, sessionCredential } from '../../src/core/agent.ts';
import type { NewAuditEvent } from '../../src/core/audit-event.ts';
import type { WebhookLink } from '../../src/core/webhook-link.ts';
import type { AccessPrecondition } from '../../src/audit/audit-writer.ts';
import type { Database } from '../../src/store/database.ts';

export const AUDIENCE = 'https://service.example/api/agents/mcp';

/** An account with an agent that may have `github`, and a webhook that has answered. */
export interface StoredAccess {
  readonly vaultId: Id<'vlt'>;
  readonly userId: Id<'usr'>;
  readonly agentId: Id<'agt'>;
  /** The agent's key. */
  readonly credential: AgentCredential;
  readonly grantId: Id<'grt'>;
  readonly webhookId: string;
  /** Of an access that is decided before anything changes. */
  readonly onlyIf: AccessPrecondition;
  event(serviceName: string): NewAuditEvent;
}

/** A webhook that has not answered yet. */
export const linkOf = (vaultId: Id<'vlt'>, webhookId: string): WebhookLink => ({
  vaultId,
  webhookId,
  url: 'https://vault.example.org',
  key: { id: 'k1', wrapped: 'wrapped' },
  pendingKey: undefined,
  capabilities: [],
  boundAt: '2026-11-20T12:00:00.000Z',
  boundBy: newId('usr'),
  lastSeenAt: undefined,
  latencyMs: undefined,
});

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
      mcpEnabled: true,
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
    await webhookLinks.insert({ ...linkOf(vaultId, webhookId), lastSeenAt: now, latencyMs: 1 });
  });
  return {
    vaultId,
    userId,
    agentId,
    credential,
    grantId,
    webhookId,
    onlyIf: { accountRevision: 0, expiresAt: null, uses: [] },
    event: (serviceName) => ({
      vaultId,
      agentId,
      eventType: 'AGENT_CREDENTIAL_ACCESS',
      outcome: 'success',
      serviceName,
    }),
  };
}

/** A client's session as the agent, and the access token that it shows. */
export interface StoredSession {
  readonly sessionId: Id<'ses'>;
  readonly credential: AgentCredential;
}

/** @param lifetimeMs of the access token */
export async function storeSession(
  { unitOfWork }: Database,
  clock: Clock,
  { vaultId, userId, agentId }: Pick<StoredAccess, 'vaultId' | 'userId' | 'agentId'>,
  lifetimeMs = 3_600_000,
): Promise<StoredSession> {
  const [now, expiresAt] = [formatTime(clock.now()), formatTime(clock.now() + lifetimeMs)];
  const [sessionId, token]: [Id<'ses'>, string] = [newId('ses'), newKey('svsess')];
  const clientId = 'https://client.example/mcp';
  const credential = sessionCredential(token, AUDIENCE);
  if (credential === undefined) throw new Error('a new token has the form of one');
  await unitOfWork.run(vaultId, async ({ oauthSessions, sessions }) => {
    await sessions.add({
      id: sessionId,
      vaultId,
      userId,
      agentId,
      clientId,
      kind: 'oauth',
      method: 'oauth',
      client: 'a client',
      createdAt: now,
      lastUsedAt: now,
      expiresAt,
      tokenHash: `family of ${sessionId}`,
    });
    await oauthSessions.add(
      {
        sessionId,
        agentId,
        clientId,
        audience: AUDIENCE,
        codeHash: undefined,
        refreshHash: hashKey(newKey('svsessr')),
      },
      { tokenHash: credential.hash, issuedAt: now, expiresAt },
    );
  });
  return { sessionId, credential };
}
