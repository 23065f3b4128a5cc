import { newProof, signedInBrowser } from './cli-steps.ts';
import { authorize, cookieBy, registerClient } from './consent-steps.ts';
import { makeOwnerLink } from './beside-the-service.ts';
import { type Answer, BASE_URL, type ManagementService, makePlace, serveOn } from './management-service.ts';

export const REDIRECT = 'http://127.0.0.1:49152/callback';
export const AUDIENCE = `${BASE_URL}/api/agents/mcp`;

/** Limits that no test of something else meets. */
export const WIDE_LIMITS = {
  SV_LIMIT_OAUTH_REGISTER: '10000',
  SV_LIMIT_OAUTH_AUTHORIZE: '10000',
  SV_LIMIT_OAUTH_TOKEN: '10000',
  SV_LIMIT_OAUTH_REVOKE: '10000',
  SV_LIMIT_OAUTH_INTROSPECT: '100000',
};

/** A service where the owner is signed in in a browser and one client has registered. */
export interface OauthWorld {
  readonly service: ManagementService;
  /** Of the owner, who signs in anew where a test goes past the end of a browser's session. */
  cookie: string;
  readonly clientId: string;
}

/** The owner signs in once more. */
export async function signInAgain(world: OauthWorld): Promise<void> {
  world.cookie = await cookieBy(world.service, await makeOwnerLink(world.service));
}

export async function startOauthWorld(
  more: Readonly<Record<string, string>> = WIDE_LIMITS,
): Promise<OauthWorld> {
  const service = await serveOn(await makePlace(more));
  const cookie = await cookieBy(service, await makeOwnerLink(service));
  return { service, cookie, clientId: await registerClient(service, [REDIRECT]) };
}

/** Another person of the account, signed in in a browser. */
export async function signedInMember(
  { service }: Pick<OauthWorld, 'service'>,
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

/** Posts a form to one of OAuth's endpoints. @param fields undefined ones are left out; a text is sent as it is */
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

/** A code that a person has just approved, with what its client knows besides. */
export interface ApprovedCode {
  readonly code: string;
  readonly codeVerifier: string;
  readonly clientId: string;
  readonly agentId: string;
}

export async function newAgent({ service }: Pick<OauthWorld, 'service'>, mcpEnabled = true): Promise<string> {
  const { json } = await service.admin('POST', '/api/agents', { body: { name: 'an agent', mcpEnabled } });
  return (json as { agent: { id: string } }).agent.id;
}

/** A person lets the client act as an agent. @param more another client or browser than the world's */
export async function approve(
  world: OauthWorld,
  agentId: string,
  more: Partial<Pick<OauthWorld, 'clientId' | 'cookie'>> = {},
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

/** @param changed fields that are sent otherwise, or not at all */
export const exchange = (
  { service }: Pick<OauthWorld, 'service'>,
  code: ApprovedCode,
  changed: Fields = {},
): Promise<Answer> => postOauth(service, 'token', { ...exchangeFields(code), ...changed });

/** What a client has after the exchange. */
export interface ClientSession {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly clientId: string;
  readonly agentId: string;
}

/** A client that is connected to an agent. @param agentId a new one unless it is given */
export async function connect(
  world: OauthWorld,
  agentId?: string,
  more: Partial<Pick<OauthWorld, 'clientId' | 'cookie'>> = {},
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
  { service }: Pick<OauthWorld, 'service'>,
  agentId: string,
): Promise<
  readonly { eventType: string; userId?: string; outcome: string; detail?: Record<string, unknown> }[]
> {
  return (await service.admin('GET', `/api/audit?limit=100&agentId=${agentId}`)).json.items;
}

export const eventTypesOf = async (
  world: Pick<OauthWorld, 'service'>,
  agentId: string,
): Promise<readonly string[]> => (await eventsOf(world, agentId)).map(({ eventType }) => eventType);

/** How an OAuth endpoint refused, as `status error`. */
export const refusalIn = ({ status, json }: Answer): string => `${status} ${json?.error}`;
