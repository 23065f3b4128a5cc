import type { Id } from '@svault/shared';
import { afterAll, beforeAll } from 'vitest';
import { openOauthSession } from '../../src/authorization-server/oauth-session.ts';
import type { Actor } from '../../src/core/actor.ts';
import type { Stores } from '../../src/core/stores.ts';
import { issueCode } from '../../src/management/approve-oauth-client.ts';
import { makeOwnerLink, openBeside } from './beside-the-service.ts';
import { type Answer, BASE_URL, type ManagementService, makePlace, serveOn } from './management-service.ts';
import { newProof, signedInBrowser } from './cli-client.ts';
import { authorize, cookieBy, registerClient } from './consent-page.ts';
import { uniqueName } from './unique-name.ts';

export const REDIRECT = 'http://127.0.0.1:49152/callback';
export const AUDIENCE = `${BASE_URL}/api/agents/mcp`;

/** Limits that only tests of limits reach. */
export const WIDE_LIMITS = {
  SV_LIMIT_OAUTH_REGISTER: '10000',
  SV_LIMIT_OAUTH_AUTHORIZE: '10000',
  SV_LIMIT_OAUTH_TOKEN: '10000',
  SV_LIMIT_OAUTH_REVOKE: '10000',
  SV_LIMIT_OAUTH_INTROSPECT: '100000',
};

/** A service with a signed-in owner and a registered client. */
export interface OauthFixture {
  readonly service: ManagementService;
  /** Of the owner's session; a test that outlives the session signs in again. */
  cookie: string;
  readonly clientId: string;
}

export async function signInAgain(world: OauthFixture): Promise<void> {
  world.cookie = await cookieBy(world.service, await makeOwnerLink(world.service));
}

export async function startOauthFixture(
  more: Readonly<Record<string, string>> = WIDE_LIMITS,
): Promise<OauthFixture> {
  const service = await serveOn(await makePlace(more));
  const cookie = await cookieBy(service, await makeOwnerLink(service));
  return { service, cookie, clientId: await registerClient(service, [REDIRECT]) };
}

/** A fixture for the tests of a file; its members are there once the first `beforeAll` has run. */
export function useOauth(more?: Readonly<Record<string, string>>): OauthFixture {
  const world = {} as OauthFixture;
  beforeAll(async () => void Object.assign(world, await startOauthFixture(more)));
  afterAll(() => world.service.stop());
  return world;
}

/** Another member of the account, with a browser session. */
export async function signedInMember(
  { service }: Pick<OauthFixture, 'service'>,
  role: 'admin' | 'member' = 'member',
): Promise<{ readonly id: string; readonly cookie: string }> {
  const { browser, id } = await signedInBrowser(service, role);
  return { id, cookie: `svault=${browser.cookies.get('svault')}` };
}

export type Fields = Readonly<Record<string, string | undefined>>;

const form = (fields: Fields): string => {
  const given = Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams(given).toString();
};

/** Posts a form to an OAuth endpoint. @param fields undefined ones are omitted; a string is sent as it is */
export const postOauth = (
  service: Pick<ManagementService, 'anyone'>,
  endpoint: 'token' | 'revoke' | 'introspect',
  fields: Fields | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  service.anyone('POST', `/api/mcp-oauth/${endpoint}`, {
    rawBody: typeof fields === 'string' ? fields : form(fields),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

/** An authorization code, and what its client needs to exchange it. */
export interface ApprovedCode {
  readonly code: string;
  readonly codeVerifier: string;
  readonly clientId: string;
  readonly agentId: string;
}

export async function newAgent(
  { service }: Pick<OauthFixture, 'service'>,
  mcpEnabled = true,
): Promise<string> {
  const { json } = await service.admin('POST', '/api/agents', {
    body: { name: uniqueName('an agent'), mcpEnabled },
  });
  return (json as { agent: { id: string } }).agent.id;
}

/** The user consents that the client acts as an agent. @param more another client or browser than the fixture's */
export async function approve(
  world: Pick<OauthFixture, 'clientId' | 'cookie'> & {
    readonly service: { readonly running: { readonly url: string } };
  },
  agentId: string,
  more: Partial<Pick<OauthFixture, 'clientId' | 'cookie'>> = {},
): Promise<ApprovedCode> {
  const { cookie, clientId } = { ...world, ...more };
  const { codeVerifier, codeChallenge } = newProof();
  const choice = { agentId };
  const asked = { cookie, clientId, redirectUri: REDIRECT, codeChallenge, choice };
  const code = (await authorize(world.service, asked)).get('code');
  if (code === null) throw new Error('there is no code');
  return { code, codeVerifier, clientId, agentId };
}

export const exchangeFields = ({ code, codeVerifier, clientId }: ApprovedCode): Fields => ({
  grant_type: 'authorization_code',
  code,
  code_verifier: codeVerifier,
  client_id: clientId,
  redirect_uri: REDIRECT,
});

/** @param changed other fields, undefined to omit one */
export const exchange = (
  { service }: { readonly service: Pick<ManagementService, 'anyone'> },
  code: ApprovedCode,
  changed: Fields = {},
): Promise<Answer> => postOauth(service, 'token', { ...exchangeFields(code), ...changed });

export interface ClientSession {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly clientId: string;
  readonly agentId: string;
}

/** Connects the client to an agent, a new one by default. */
export async function connect(
  world: OauthFixture,
  agentId?: string,
  more: Partial<Pick<OauthFixture, 'clientId' | 'cookie'>> = {},
): Promise<ClientSession> {
  const approved = await approve(world, agentId ?? (await newAgent(world)), more);
  return sessionIn(await exchange(world, approved), approved);
}

/** @throws where the answer has no tokens */
export function sessionIn(
  { status, json, text }: Answer,
  { clientId, agentId }: Pick<ClientSession, 'agentId' | 'clientId'>,
): ClientSession {
  if (status !== 200) throw new Error(`no tokens were given: ${text}`);
  const { access_token: accessToken, refresh_token: refreshToken } = json as Record<string, string>;
  return { accessToken: accessToken ?? '', refreshToken: refreshToken ?? '', clientId, agentId };
}

export const refresh = (
  { service }: { readonly service: Pick<ManagementService, 'anyone'> },
  { refreshToken, clientId }: Pick<ClientSession, 'clientId' | 'refreshToken'>,
  changed: Fields = {},
): Promise<Answer> =>
  postOauth(service, 'token', {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: clientId,
    ...changed,
  });

export const introspect = (
  { service }: { readonly service: Pick<ManagementService, 'anyone'> },
  token: string,
): Promise<Answer> => postOauth(service, 'introspect', { token });

export const isActive = async (
  where: { readonly service: Pick<ManagementService, 'anyone'> },
  { accessToken }: Pick<ClientSession, 'accessToken'>,
): Promise<boolean> => (await introspect(where, accessToken)).json.active as boolean;

/** Calls a tool at the MCP endpoint. */
export const callTool = (
  { service }: { readonly service: Pick<ManagementService, 'anyone'> },
  { accessToken }: Pick<ClientSession, 'accessToken'>,
  name = 'whoami',
): Promise<Answer> =>
  service.anyone('POST', '/api/agents/mcp', {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } },
    headers: { authorization: `Bearer ${accessToken}`, accept: 'application/json, text/event-stream' },
  });

/** Events of one agent, newest first. */
export async function eventsOf(
  { service }: Pick<OauthFixture, 'service'>,
  agentId: string,
): Promise<
  readonly { eventType: string; userId?: string; outcome: string; detail?: Record<string, unknown> }[]
> {
  return (await service.admin('GET', `/api/audit?limit=100&agentId=${agentId}`)).json.items;
}

export const eventTypesOf = async (
  world: Pick<OauthFixture, 'service'>,
  agentId: string,
): Promise<readonly string[]> => (await eventsOf(world, agentId)).map(({ eventType }) => eventType);

/** A session with the pair that its refresh token gives. */
export const refreshed = async (
  world: Pick<OauthFixture, 'service'>,
  session: ClientSession,
): Promise<ClientSession> => sessionIn(await refresh(world, session), session);

/** The error of an OAuth endpoint, as `status error`. */
export const errorIn = ({ status, json }: Answer): string => `${status} ${json?.error}`;

/* Sessions and codes made in the database, for clients and resources that the consent page does not allow. */

interface DirectClient {
  readonly clientId: string;
  readonly audience?: string;
}

async function asOwner<T>(
  { service }: OauthFixture,
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

/** Opens a session of a client with a new agent. */
export async function connectDirectly(
  world: OauthFixture,
  { clientId, audience = AUDIENCE }: DirectClient,
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
  return { accessToken: tokens.accessToken, refreshToken: tokens.refreshToken, agentId, clientId };
}

/** Issues a code for a client and a new agent. */
export async function approveDirectly(
  world: OauthFixture,
  { clientId, audience = AUDIENCE }: DirectClient,
): Promise<ApprovedCode> {
  const agentId = await newAgent(world);
  const { codeVerifier, codeChallenge } = newProof();
  const asked = { agentId, clientId, clientName: 'c', redirectUri: REDIRECT, codeChallenge, audience };
  const issued = await asOwner(world, (stores, owner) =>
    issueCode({ ...stores, actor: owner }, { ...asked, switchMcpOn: false }, world.service.clock),
  );
  if ('refused' in issued) throw new Error(`no code: ${issued.refused}`);
  return { code: issued.code, codeVerifier, clientId, agentId };
}
