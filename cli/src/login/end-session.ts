import type { ActingLogin } from '../contexts/acting-login.ts';
import { Failure } from '../failure.ts';
import { showInstead } from '../http/dry-run.ts';
import type { OutgoingRequest } from '../http/outgoing-request.ts';
import { refusalOf } from '../http/refusal.ts';
import { send } from '../http/send.ts';
import type { Invocation } from '../invocation.ts';

/**
 * Ends the session of a login at its service. An admin key does not end with it, nor does an agent's.
 * @returns why it goes on there; undefined where it is over. Under `--dry-run` the request is shown
 */
export async function endSession(
  invocation: Pick<Invocation, 'terminal' | 'signal' | 'flags'>,
  login: ActingLogin,
): Promise<string | undefined> {
  const request: OutgoingRequest = { method: 'POST', url: new URL(`${login.context.baseUrl}/api/logout`) };
  if (invocation.flags.dryRun === true) {
    showInstead(invocation, request);
    return undefined;
  }
  try {
    const answer = await send(invocation, { ...request, authorization: await login.authorization() });
    const isOver = answer.status === 204 || answer.status === 401;
    return isOver ? undefined : refusalOf(answer, request.url).message;
  } catch (error) {
    if (!(error instanceof Failure) || invocation.signal.aborted) throw error;
    // No session is renewed that is over.
    return error.exit === 'denied' ? undefined : error.message;
  }
}
