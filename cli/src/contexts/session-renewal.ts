import * as z from 'zod';
import { Failure } from '../failure.ts';
import { type IncomingAnswer, type OutgoingRequest, send } from '../http/send.ts';
import { understood } from '../http/refusal.ts';
import type { Invocation } from '../invocation.ts';
import type { Context, SessionSecrets } from './context.ts';

/** What the control plane answers to a sign-in and to a renewal (`/api/cli/login/…`). */
export const sessionGrantSchema = z.looseObject({
  accessToken: z.string().regex(/^[\x21-\x7e]{1,1024}$/),
  refreshToken: z.string().regex(/^[\x21-\x7e]{1,1024}$/),
  expiresInSeconds: z.number().nonnegative(),
  user: z.looseObject({ email: z.string().max(320) }),
});
type SessionGrant = z.infer<typeof sessionGrantSchema>;

/** Before its end a session is renewed already, so that no request is on its way meanwhile. */
const MARGIN_MS = 30_000;
const GRACE_MS = 500;

/** @param askedAt when the answer was asked for, by this machine's clock, ms */
export const sessionOf = (grant: SessionGrant, askedAt: number): SessionSecrets => ({
  kind: 'session',
  accessToken: grant.accessToken,
  accessExpiresAt: new Date(askedAt + Math.min(grant.expiresInSeconds, 86_400) * 1_000).toISOString(),
  refreshToken: grant.refreshToken,
});

/** Whether its access token has expired or is about to. An invalid time counts as expired. */
export const endsSoon = ({ accessExpiresAt }: SessionSecrets, nowMs: number): boolean =>
  !(Date.parse(accessExpiresAt) - nowMs > MARGIN_MS);

/**
 * The next pair of tokens. One process at a time may ask for it: the control plane ends a session whose token is reused.
 * @throws Failure denied where the session has expired
 */
export async function renewSession(
  invocation: Pick<Invocation, 'terminal' | 'signal' | 'flags'>,
  { name, baseUrl }: Context,
  { refreshToken }: SessionSecrets,
): Promise<SessionSecrets> {
  const url = new URL(`${baseUrl}/api/cli/login/refresh`);
  const askedAt = Date.now();
  const request = { method: 'POST', url, body: { refreshToken }, secretMembers: true } as const;
  const answer = await sendTwice({ ...invocation, signal: soonAfter(invocation.signal) }, request);
  if (answer.status === 401)
    throw new Failure('denied', `the session of ${name} at ${url.host} has ended: svault login --as ${name}`);
  return sessionOf(understood(answer, url, sessionGrantSchema), askedAt);
}

/**
 * Ctrl-C does not end it half-way: the control plane may have put the next pair in the place of this one, and says so at once.
 */
function soonAfter(signal: AbortSignal): AbortSignal {
  const later = new AbortController();
  // What has come by then is read first: the timer is late where this process had no CPU.
  const abortLater = (): void => void setTimeout(() => setImmediate(() => later.abort()), GRACE_MS).unref();
  if (signal.aborted) abortLater();
  else signal.addEventListener('abort', abortLater, { once: true });
  return later.signal;
}

/** The answer may have been lost on the way: for some seconds the control plane gives the same one again. */
async function sendTwice(
  invocation: Pick<Invocation, 'terminal' | 'signal' | 'flags'>,
  request: OutgoingRequest,
): Promise<IncomingAnswer> {
  try {
    return await send(invocation, request);
  } catch (error) {
    if (invocation.signal.aborted) throw error;
    return send(invocation, request);
  }
}
