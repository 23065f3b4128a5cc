import { createHash } from 'node:crypto';
import { randomToken } from '@svault/shared';
import { type Answer, type Call, done, withHeaders } from './doors.ts';

/** A person of the account, signed in in a browser. */
export interface Person {
  readonly id: string;
  /** A door as this browser comes through it, from a page of the control plane. */
  in(door: Call): Call;
}

let people = 0;

/** Adds a member. @returns a link that signs them in once */
export async function addMember(
  admin: Call,
  role: 'admin' | 'member' = 'member',
): Promise<{ readonly id: string; readonly linkToken: string }> {
  const body = { email: `person-${(people += 1)}@example.org`, role };
  const { member, link } = await done(admin('POST', '/api/members', { body }));
  return { id: member.id, linkToken: tokenIn(link.url) };
}

export const tokenIn = (link: string): string => new URL(link).searchParams.get('token') ?? '';

/** Uses a one-time link up. */
export const useLink = (door: Call, token: string): Promise<Answer> =>
  door('POST', '/api/login/link', { body: { token } });

export async function signIn(
  admin: Call,
  door: Call,
  origin: string,
  role: 'admin' | 'member' = 'member',
): Promise<Person> {
  const { id, linkToken } = await addMember(admin, role);
  const answer = await useLink(door, linkToken);
  await done(Promise.resolve(answer));
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  return { id, in: (any) => withHeaders(any, { cookie, origin }) };
}

/** RFC 7636. */
function newProof(): { readonly codeVerifier: string; readonly codeChallenge: string } {
  const codeVerifier = randomToken(32);
  return { codeVerifier, codeChallenge: createHash('sha256').update(codeVerifier).digest('base64url') };
}

const REDIRECT = 'http://127.0.0.1:49152/callback';

/** Where an answer sends a browser: a code for a client. */
function codeIn({ status, headers, text }: Answer): string {
  const code = new URL(headers.get('location') ?? 'none:').searchParams.get('code');
  if (code === null) throw new Error(`there is no code, but ${status}: ${text}`);
  return code;
}

/** A command-line client's code that a person has allowed. @param doors of its steps, in turns */
export async function approvedLogin(
  person: Person,
  doors: readonly [Call, Call, Call],
): Promise<{ readonly code: string; readonly codeVerifier: string }> {
  const { codeVerifier, codeChallenge } = newProof();
  const begin = { body: { codeChallenge, redirectUri: REDIRECT } };
  const { requestId } = await done(doors[0]('POST', '/api/cli/login/begin', begin));
  const form = { request: requestId as string, decision: 'allow' };
  return { code: codeIn(await person.in(doors[1])('POST', '/login/cli', { form })), codeVerifier };
}

export const exchangeLogin = (door: Call, body: object): Promise<Answer> =>
  door('POST', '/api/cli/login/exchange', { body });

/** What an MCP client exchanges for tokens. */
export type CodeForm = Readonly<Record<string, string>>;

/** A person lets a client that has just registered act as an agent; each step at the next door. */
export async function approvedCode(
  person: Person,
  agentId: string,
  doors: readonly [Call, Call, Call],
): Promise<CodeForm> {
  const registration = { body: { redirect_uris: [REDIRECT], client_name: 'a client' } };
  const { client_id } = await done(doors[0]('POST', '/api/mcp-oauth/register', registration));
  const { codeVerifier, codeChallenge } = newProof();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: REDIRECT,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  });
  const page = await person.in(doors[1])('GET', `/api/mcp-oauth/authorize?${query.toString()}`);
  const form = { ...fieldsOf(page.text), agent: agentId, decision: 'allow' };
  const answer = await person.in(doors[2])('POST', '/api/mcp-oauth/authorize', { form });
  return {
    grant_type: 'authorization_code',
    code: codeIn(answer),
    code_verifier: codeVerifier,
    client_id,
    redirect_uri: REDIRECT,
  };
}

export const askTokens = (door: Call, form: Readonly<Record<string, string>>): Promise<Answer> =>
  door('POST', '/api/mcp-oauth/token', { form });

/** The hidden fields of a page's form. */
const fieldsOf = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [
        name,
        value.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&'),
      ],
    ),
  );
