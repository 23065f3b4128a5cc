import { fieldsOf } from './browser.ts';
import { type Answer, BASE_URL, type ManagementService, clientOf } from './management-service.ts';

export const AUTHORIZE = '/api/mcp-oauth/authorize';

/** What a user chooses on the consent page. */
export interface Choice {
  readonly agentId: string;
  /** Sent where the page does not say it itself. */
  readonly switchMcpOn?: boolean;
  readonly decision?: 'allow' | 'deny';
}

/** The fields of the page's form with a choice made. @param page the consent page */
export const formOf = (page: string, { agentId, switchMcpOn, decision = 'allow' }: Choice) => ({
  ...fieldsOf(page),
  agent: agentId,
  ...(switchMcpOn === true && { [`mcp_${agentId}`]: 'on' }),
  decision,
});

/** Posts the page's form as a browser does. @param origin undefined to send none */
export const postForm = (
  url: string,
  cookie: string,
  fields: Readonly<Record<string, string>>,
  origin: string | undefined = BASE_URL,
): Promise<Answer> =>
  clientOf(url, { cookie })('POST', AUTHORIZE, {
    rawBody: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(origin !== undefined && { origin }),
    },
  });

/**
 * Acts as the user: opens the page at an authorization address, chooses, and sends the form.
 *
 * @param authorizationUrl as the client made it
 * @param cookie of a signed-in user, `svault=…`
 * @param at the service's listener, where it differs from its public address
 * @returns the client's redirect URI with the response
 */
export async function allowInBrowser(
  authorizationUrl: string | URL,
  cookie: string,
  choice: Choice,
  at?: string,
): Promise<string> {
  const { origin, pathname, search } = new URL(authorizationUrl);
  const url = at ?? origin;
  const page = await clientOf(url, { cookie })('GET', pathname + search);
  if (page.status !== 200) throw new Error(`there is no consent page, but ${page.status}: ${page.text}`);
  const answer = await postForm(url, cookie, formOf(page.text, choice), origin);
  const location = answer.headers.get('location');
  if (answer.status !== 303 || location === null)
    throw new Error(`the consent was not taken: ${answer.status} ${answer.text}`);
  return location;
}

/** Signs in by a one-time link. @returns the cookie */
export async function cookieBy(service: Pick<ManagementService, 'anyone'>, link: string): Promise<string> {
  const token = new URL(link).searchParams.get('token');
  const answer = await service.anyone('POST', '/api/login/link', { body: { token } });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** Registers a client. @returns its id */
export async function registerClient(
  service: Pick<ManagementService, 'anyone'>,
  redirectUris: readonly string[],
  clientName = 'a test client',
): Promise<string> {
  const body = { redirect_uris: redirectUris, client_name: clientName };
  const { status, json, text } = await service.anyone('POST', '/api/mcp-oauth/register', { body });
  if (status !== 201) throw new Error(`no client was registered: ${text}`);
  return (json as { client_id: string }).client_id;
}

/** The parameters of an authorization request; undefined ones are omitted. */
export type RequestParameters = Readonly<Record<string, string | undefined>>;

/** Path of an authorization request. */
export function authorizationPath(parameters: RequestParameters): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `${AUTHORIZE}?${new URLSearchParams(given).toString()}`;
}

/** A whole authorization, from the client's request to the response at its redirect URI. */
export async function authorize(
  service: { readonly running: { readonly url: string } },
  {
    cookie,
    clientId,
    redirectUri,
    codeChallenge,
    choice,
    ...more
  }: {
    readonly cookie: string;
    readonly clientId: string;
    readonly redirectUri: string;
    readonly codeChallenge: string;
    readonly choice: Choice;
    readonly state?: string;
    readonly resource?: string;
  },
): Promise<URLSearchParams> {
  const path = authorizationPath({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    ...more,
  });
  const location = await allowInBrowser(BASE_URL + path, cookie, choice, service.running.url);
  return new URL(location).searchParams;
}
