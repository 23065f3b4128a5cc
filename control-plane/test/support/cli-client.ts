import { createHash, randomBytes } from 'node:crypto';
import { type TestBrowser, browserOn } from './browser.ts';
import { type Answer, type Call, type ManagementService, clientOf } from './management-service.ts';
import { addMember } from './members.ts';

/** A verifier and its challenge (RFC 7636). */
export function newProof(): { readonly codeVerifier: string; readonly codeChallenge: string } {
  const codeVerifier = randomBytes(32).toString('base64url');
  return { codeVerifier, codeChallenge: createHash('sha256').update(codeVerifier).digest('base64url') };
}

export const LOOPBACK = 'http://127.0.0.1:49152/callback';

/** A login request of the command-line client. */
export interface BegunLogin {
  readonly requestId: string;
  readonly authorizeUrl: string;
  readonly userCode: string;
  readonly codeVerifier: string;
}

export async function beginLogin(
  service: ManagementService,
  more: Readonly<Record<string, unknown>> = { redirectUri: LOOPBACK },
): Promise<BegunLogin> {
  const { codeVerifier, codeChallenge } = newProof();
  const body = { codeChallenge, ...more };
  const { status, json, text } = await service.anyone('POST', '/api/cli/login/begin', { body });
  if (status !== 200) throw new Error(`no sign-in was begun: ${text}`);
  return { ...(json as Omit<BegunLogin, 'codeVerifier'>), codeVerifier };
}

/** A browser with a signed-in member. */
export async function signedInBrowser(
  service: ManagementService,
  role: 'admin' | 'member' = 'member',
): Promise<{ readonly browser: TestBrowser; readonly id: string; readonly email: string }> {
  const { id, email } = await addMember(service, role);
  const { url } = (await service.admin('POST', `/api/members/${id}/link`)).json as { url: string };
  const browser = browserOn(service.running.url);
  await browser.submit('/login/link', { token: new URL(url).searchParams.get('token') ?? '' });
  return { browser, id, email };
}

/** Sends the decision on the approval page. */
export const decide = (
  browser: TestBrowser,
  { requestId }: BegunLogin,
  decision = 'allow',
): Promise<Answer> => browser.submit('/login/cli', { request: requestId, decision });

/** The code that an approval sent to the loopback address. */
export const codeIn = ({ headers }: Answer): string =>
  new URL(headers.get('location') ?? 'none:').searchParams.get('code') ?? '';

export const exchange = (
  service: ManagementService,
  body: { readonly code: string; readonly codeVerifier: string; readonly requestId?: string },
): Promise<Answer> => service.anyone('POST', '/api/cli/login/exchange', { body });

export const refresh = (service: ManagementService, refreshToken: string): Promise<Answer> =>
  service.anyone('POST', '/api/cli/login/refresh', { body: { refreshToken } });

export const bearer = (service: ManagementService, accessToken: string): Call =>
  clientOf(service.running.url, { authorization: `Bearer ${accessToken}` });

export interface CliGrant {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
  readonly user: { readonly id: string; readonly email: string; readonly role: string };
}

/** A signed-in command-line client. */
export async function cliSession(
  service: ManagementService,
  role: 'admin' | 'member' = 'member',
): Promise<CliGrant & { readonly id: string; readonly browser: TestBrowser }> {
  const { browser, id } = await signedInBrowser(service, role);
  const login = await beginLogin(service);
  const code = codeIn(await decide(browser, login));
  const { status, json, text } = await exchange(service, { code, codeVerifier: login.codeVerifier });
  if (status !== 200) throw new Error(`no session was opened: ${text}`);
  return { ...(json as CliGrant), id, browser };
}
