import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../api/api-client.ts';
import { Failure } from '../failure.ts';
import { DryRunDone, showInstead } from '../http/dry-run.ts';
import type { IncomingAnswer } from '../http/outgoing-request.ts';
import { refusalOf } from '../http/refusal.ts';
import { send } from '../http/send.ts';
import type { Invocation } from '../invocation.ts';
import { say } from '../output/say.ts';
import { credentialAddress } from './credential-address.ts';
import { mustNotBeAnother } from './known-webhook.ts';
import { webhookOf } from './webhook-of.ts';

/** What a webhook gave out for a ticket, unread. */
export interface Delivery {
  readonly answer: IncomingAnswer;
  readonly from: URL;
}

const TRIES = 3;
/** Beyond it, waiting is the caller's to decide about. */
const MAX_PAUSE_S = 30;
/** An answer that wants to be asked again at once gets that much rest. */
const MIN_PAUSE_MS = 250;

/**
 * Fetches a credential from the webhook, with a ticket of the service. A ticket works once, so an answer that says "later" takes
 * both steps again; the webhook gets the ticket alone, no key and no cookie.
 *
 * @throws Failure for whatever is no delivery; under `--dry-run` DryRunDone, both steps shown
 */
export async function fetchDelivery(
  invocation: Invocation,
  client: ApiClient,
  name: string,
): Promise<Delivery> {
  for (let tries = 1; ; tries += 1) {
    const attempt = await fetchOnce(invocation, client, name);
    if ('answer' in attempt) return attempt;
    const { later } = attempt;
    if (tries === TRIES) throw later;
    const { message, retryAfterSeconds: seconds = 0 } = later;
    if (seconds > MAX_PAUSE_S) throw later;
    say(invocation, `${message}; asking again${seconds > 0 ? ` in ${seconds} s` : ''}`);
    const pauseMs = Math.max(seconds * 1_000, MIN_PAUSE_MS);
    await sleep(pauseMs, undefined, { signal: invocation.signal });
  }
}

async function fetchOnce(
  invocation: Invocation,
  client: ApiClient,
  name: string,
): Promise<Delivery | { readonly later: Failure }> {
  let from: URL;
  try {
    from = await credentialAddress(client, name);
  } catch (error) {
    // Of the service: it knows that the webhook is away.
    if (error instanceof Failure && error.exit === 'unavailable' && error.retryAfterSeconds !== undefined)
      return { later: error };
    throw error;
  }
  const request = { method: 'GET', url: from } as const;
  if (client.dryRun) {
    showInstead(invocation, request);
    throw new DryRunDone();
  }
  const webhookUrl = webhookOf(from, '/v1/credential');
  await mustNotBeAnother(invocation, client.login, { webhookUrl, shown: from.origin });
  const answer = await send(invocation, request);
  if (answer.status === 200) return { answer, from };
  const refused = refusalOf(answer, from);
  if (refused.retryAfterSeconds !== undefined && isTemporary(refused)) return { later: refused };
  if (refused.code !== 'NOT_FOUND') throw refused;
  throw new Failure('notFound', `the webhook holds nothing for ${name}; svault set ${name} stores it`, {
    code: refused.code,
    cause: refused,
  });
}

/** Protocol section 5.4: what the same request may be answered otherwise, a little later. */
const isTemporary = ({ exit, code }: Failure): boolean =>
  code === 'REFRESH_NEEDED' || exit === 'unavailable' || exit === 'rateLimited';
