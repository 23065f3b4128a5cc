import type { Id } from '@svault/shared';
import type { Actor } from '../src/core/actor.ts';
import { issueCode } from '../src/management/approve-oauth-client.ts';
import { openOauthSession } from '../src/authorization-server/oauth-session.ts';
import type { Stores } from '../src/core/stores.ts';
import { openBeside } from './beside-the-service.ts';
import { newProof } from './cli-steps.ts';
import {
  AUDIENCE,
  type ApprovedCode,
  type ClientSession,
  type OauthWorld,
  REDIRECT,
  newAgent,
} from './oauth-steps.ts';

/* What a person's consent leads to, made beside the service: for clients and resources that no consent page knows. */

interface Whom {
  readonly clientId: string;
  readonly audience?: string;
}

async function asOwner<T>(
  { service }: OauthWorld,
  work: (stores: Stores, owner: Actor) => Promise<T>,
): Promise<T> {
  const database = await openBeside(service);
  try {
    const me = (await service.admin('GET', '/api/me')).json as { vaultId: Id<'vlt'>; id: Id<'usr'> };
    const credentialId = 'ses_beside' as Id<'ses'>;
    const owner: Actor = { vaultId: me.vaultId, userId: me.id, role: 'admin', via: 'session', credentialId };
    return await database.unitOfWork.run(me.vaultId, (stores) => work(stores, owner));
  } finally {
    await database.close();
  }
}

/** A client that is connected to a new agent. */
export async function connectBeside(
  world: OauthWorld,
  { clientId, audience = AUDIENCE }: Whom,
): Promise<ClientSession> {
  const agentId = await newAgent(world);
  const tokens = await asOwner(world, async (stores, { vaultId, userId }) => {
    const approver = await stores.users.get(vaultId, userId);
    if (approver === undefined) throw new Error('there is no owner');
    const session = {
      agentId: agentId as Id<'agt'>,
      clientId,
      clientName: 'c',
      audience,
      codeHash: undefined,
    };
    return openOauthSession(stores, approver, session, world.service.clock);
  });
  return { accessToken: tokens.accessToken, refreshToken: tokens.refreshToken ?? '', agentId, clientId };
}

/** A code for a client and a new agent. */
export async function approveBeside(
  world: OauthWorld,
  { clientId, audience = AUDIENCE }: Whom,
): Promise<ApprovedCode> {
  const agentId = await newAgent(world);
  const { codeVerifier, codeChallenge } = newProof();
  const asked = { agentId, clientId, clientName: 'c', redirectUri: REDIRECT, codeChallenge, audience };
  const issued = await asOwner(world, (stores, owner) =>
    issueCode(stores, owner, { ...asked, switchMcpOn: false }, world.service.clock),
  );
  if ('refused' in issued) throw new Error(`no code: ${issued.refused}`);
  return { code: issued.code, codeVerifier, clientId, agentId };
}
