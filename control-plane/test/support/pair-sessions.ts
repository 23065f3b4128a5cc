import { randomToken } from '@svault/shared';
import type { TestPair } from '@svault/test-kit/pair';
import { newProof } from './cli-client.ts';
import { allowInBrowser, authorizationPath } from './consent-page.ts';
import { type Answer, type Call, clientOf } from './management-service.ts';
import { REDIRECT, exchangeFields, postOauth } from './oauth-client.ts';

/** Public address of a pair's service (test-kit). */
const PAIR_BASE_URL = 'http://127.0.0.1:1';

/** What a client has after a person's consent, and every secret that led there. */
export interface PairSession {
  readonly agentId: string;
  readonly clientId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly code: string;
  readonly codeVerifier: string;
  readonly state: string;
  /** The cookie of the person. */
  readonly cookie: string;
}

type Approved = Omit<PairSession, 'accessToken' | 'refreshToken'>;

/** Signs a new member in: whoever belongs to the account may let a client act for its agents. @returns their cookie */
async function somebodySignsIn(pair: TestPair, anyone: Call): Promise<string> {
  const body = { email: `person-${crypto.randomUUID()}@example.org`, role: 'member' };
  const { link } = await pair.admin.call<{ link: { url: string } }>('POST', '/api/members', body);
  const token = new URL(link.url).searchParams.get('token');
  const { headers } = await anyone('POST', '/api/login/link', { body: { token } });
  return headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** A client's part and a person's, from the registration to the code. */
export async function approveOn(
  pair: TestPair,
  agentId: string,
  more: { readonly switchMcpOn?: boolean; readonly anyone?: Call } = {},
): Promise<Approved> {
  const { anyone = clientOf(pair.controlPlaneUrl()), ...choice } = more;
  const cookie = await somebodySignsIn(pair, anyone);
  const registered = await anyone('POST', '/api/mcp-oauth/register', {
    body: { redirect_uris: [REDIRECT], client_name: 'a test client' },
  });
  const { client_id: clientId } = registered.json as { client_id: string };
  const { codeVerifier, codeChallenge } = newProof();
  const state = randomToken(24);
  const path = authorizationPath({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    state,
  });
  const url = PAIR_BASE_URL + path;
  const location = await allowInBrowser(url, cookie, { agentId, ...choice }, pair.controlPlaneUrl());
  const code = new URL(location).searchParams.get('code');
  if (code === null) throw new Error(`no code was given: ${location}`);
  return { agentId, clientId, code, codeVerifier, state, cookie };
}

const exchangeOn = (anyone: Call, approved: Approved): Promise<Answer> =>
  postOauth({ anyone }, 'token', exchangeFields(approved));

/** The whole way to a session of an agent, as an MCP client and a person go it. */
export async function sessionOn(
  pair: TestPair,
  agentId: string,
  more: Parameters<typeof approveOn>[2] = {},
): Promise<PairSession> {
  const approved = await approveOn(pair, agentId, more);
  const { anyone = clientOf(pair.controlPlaneUrl()) } = more;
  const { status, json, text } = await exchangeOn(anyone, approved);
  if (status !== 200) throw new Error(`the code was not exchanged: ${text}`);
  const { access_token: accessToken, refresh_token: refreshToken } = json as Record<string, string>;
  return { ...approved, accessToken: accessToken ?? '', refreshToken: refreshToken ?? '' };
}
