import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { hostname, platform } from 'node:os';
import * as z from 'zod';
import { atControlPlane } from '../../api/api-client.ts';
import { defaultContextName } from '../../contexts/context-name.ts';
import type { AdminContext } from '../../contexts/context.ts';
import { sessionGrantSchema, sessionOf } from '../../contexts/session-renewal.ts';
import { Failure, failed } from '../../failure.ts';
import { endWhereDry } from '../../http/dry-run.ts';
import { type OutgoingRequest, send } from '../../http/send.ts';
import { isOnThisMachine, safeAddress } from '../../http/service-address.ts';
import { understood } from '../../http/refusal.ts';
import type { Invocation } from '../../invocation.ts';
import { type LoopbackListener, listenOnLoopback } from './loopback-listener.ts';
import { say } from '../../output/say.ts';
import { readSecret } from '../../secret-input/read-secret.ts';
import { type WantedLogin, checkNameIsFree, keepLogin, printLogin } from './keep-login.ts';

const begunSchema = z.looseObject({
  requestId: z.string().regex(/^[\w-]{1,100}$/),
  authorizeUrl: z.string(),
  userCode: z.string().regex(/^[A-Z0-9-]{4,20}$/),
  expiresInSeconds: z.number().positive(),
});
type Begun = Awaited<ReturnType<typeof begin>>;

/** What opens browsers is a shell's script here and there: nothing that means something to a shell gets into it. */
const OPENABLE = /^https?:[\w:/?&=.~%[\]-]{1,2000}$/;

/** As long as the control plane waits for a person. */
const MAX_WAIT_MS = 10 * 60_000;

/**
 * Signs a person in: they approve in a browser, which brings a code to this machine (RFC 8252), or shows one to be pasted.
 * @throws Failure denied where they do not
 */
export async function browserLogin(
  invocation: Invocation,
  { store, baseUrl, wantedName, launchBrowser }: WantedLogin & { readonly launchBrowser: boolean },
): Promise<void> {
  const name = wantedName ?? defaultContextName({ kind: 'admin', baseUrl });
  await checkNameIsFree(store, { name, kind: 'admin', baseUrl });
  const { codeVerifier, codeChallenge } = newProof();
  const { requestId, code } = launchBrowser
    ? await codeByBrowser(invocation, baseUrl, codeChallenge)
    : await codeByHand(invocation, baseUrl, codeChallenge);
  const url = new URL(`${baseUrl}/api/cli/login/exchange`);
  const askedAt = Date.now();
  const answer = await send(invocation, { method: 'POST', url, body: { requestId, code, codeVerifier } });
  const grant = understood(answer, url, sessionGrantSchema);
  const context: AdminContext = { kind: 'admin', name, baseUrl, email: grant.user.email };
  await keepLogin(invocation, store, context, sessionOf(grant, askedAt));
  printLogin(invocation, context);
}

async function codeByHand(invocation: Invocation, baseUrl: string, codeChallenge: string) {
  const begun = await begin(invocation, baseUrl, { codeChallenge });
  say(invocation, `open ${begun.page.href}`);
  say(invocation, `it has to show ${begun.userCode}; allow it there, and bring the code here`);
  const code = await readSecret(invocation, { question: 'Code' });
  return { requestId: begun.requestId, code: code.trim() };
}

async function codeByBrowser(invocation: Invocation, baseUrl: string, codeChallenge: string) {
  if (invocation.flags.dryRun === true)
    await begin(invocation, baseUrl, { codeChallenge, redirectUri: 'http://127.0.0.1:1/callback' });
  const listener = await listenOnLoopback();
  try {
    const { redirectUri } = listener;
    const begun = await begin(invocation, baseUrl, { codeChallenge, redirectUri });
    say(invocation, `opening ${begun.page.href}`);
    say(invocation, `it has to show ${begun.userCode}; allow it there`);
    openBrowser(invocation, begun.page, () =>
      say(
        invocation,
        'no browser could be opened: open the address yourself, or svault login --no-launch-browser',
      ),
    );
    const answer = await waitForAnswer(invocation, listener, begun);
    if ('denied' in answer) throw new Failure('denied', 'the sign-in was denied in the browser');
    if (!isAnswerOf(answer.issuer, baseUrl))
      throw failed(
        `what was allowed in the browser is a sign-in at ${answer.issuer ?? 'a control plane that does not say its address'}, and not at ${baseUrl}: it was not passed on`,
      );
    return { requestId: begun.requestId, code: answer.code };
  } finally {
    listener.close();
  }
}

async function waitForAnswer(
  { signal }: Pick<Invocation, 'signal'>,
  listener: LoopbackListener,
  { requestId, expiresInSeconds, page }: Begun & { readonly page: URL },
): ReturnType<LoopbackListener['answer']> {
  const timeout = AbortSignal.timeout(Math.min(expiresInSeconds * 1_000, MAX_WAIT_MS));
  try {
    return await listener.answer({ state: requestId, page }, AbortSignal.any([signal, timeout]));
  } catch (error) {
    if (!timeout.aborted) throw error;
    throw new Failure('denied', 'no decision in the browser in time: svault login', { cause: error });
  }
}

async function begin(
  invocation: Invocation,
  baseUrl: string,
  body: { readonly codeChallenge: string; readonly redirectUri?: string },
) {
  const request: OutgoingRequest = {
    method: 'POST',
    url: new URL(`${baseUrl}/api/cli/login/begin`),
    body: { ...body, client: clientName() },
  };
  endWhereDry(invocation, request);
  const { authorizeUrl, ...begun } = await atControlPlane(invocation, { baseUrl }, async () =>
    understood(await send(invocation, request), request.url, begunSchema),
  );
  const page = safeAddress(authorizeUrl);
  if (page === undefined || !OPENABLE.test(page.href))
    throw failed(`${request.url.host} asks to open an address that is not a plain https address`);
  if (!isPageOf(page, baseUrl))
    throw failed(
      `${request.url.host} wants a page of ${page.origin} opened, which is not opened; if that is the control plane’s own address, sign in there by --base-url`,
    );
  return { ...begun, page };
}

function clientName(): string {
  const machine = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, '')
    .slice(0, 64);
  return machine === '' ? 'svault' : `svault on ${machine}`;
}

/** RFC 7636 sections 4.1 and 4.2, method S256. */
function newProof() {
  const codeVerifier = randomBytes(32).toString('base64url');
  return { codeVerifier, codeChallenge: createHash('sha256').update(codeVerifier).digest('base64url') };
}

/**
 * Opens an address in the browser of this user's desktop, without a shell. Returns at once.
 * @param url https or loopback http alone
 * @param onFailure is called where no browser could be started
 */
function openBrowser({ env }: Pick<Invocation, 'env'>, { href }: URL, onFailure: () => void): void {
  const { SVAULT_KEY: _notForABrowser, ...others } = env;
  const command = platform() === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(command, [href], { stdio: 'ignore', detached: true, env: others });
  child.once('error', onFailure).once('exit', (code) => {
    if (code !== 0) onFailure();
  });
  child.unref();
}

/**
 * Whether a page of a sign-in is the control plane's own. One that was broken into, or means harm, could have another control
 * plane's opened, where the same person is signed in: what they allow there would come back to it (RFC 9700 section 4.4).
 *
 * @param baseUrl of the control plane. One on this machine may be a tunnel's end, and call itself otherwise: any page will do there
 */
export const isPageOf = (page: URL, baseUrl: string): boolean =>
  isOnThisMachine(new URL(baseUrl)) || page.href.startsWith(`${baseUrl}/`);

/**
 * Whether a browser's answer is of the control plane that was asked (RFC 9207): its own page can lead to that of another one
 * too.
 * @param issuer as the answer names it
 */
export const isAnswerOf = (issuer: string | undefined, baseUrl: string): boolean =>
  isOnThisMachine(new URL(baseUrl)) ||
  (issuer !== undefined && safeAddress(issuer)?.href.replace(/\/+$/, '') === baseUrl);
