import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { ApiClient } from '../api/api-client.ts';
import { aboutToken, tokenPath } from '../api/service-name.ts';
import { Failure, failed, orElse } from '../failure.ts';
import { SOME_WEBHOOK, endWhereDry } from '../http/dry-run.ts';
import { refusalOf } from '../http/refusal.ts';
import { type IncomingAnswer, send } from '../http/send.ts';
import { safeAddress } from '../http/service-address.ts';
import type { Invocation } from '../invocation.ts';
import { given, withQuery } from '../json-in.ts';
import { plainLine } from '../output/plain-line.ts';
import { say } from '../output/say.ts';
import { atWebhook } from './at-webhook.ts';
import { mustNotBeAnother } from './known-webhook.ts';
import { webhookOf } from './webhook-view.ts';

/** What a webhook gave out for a ticket, unread. */
export interface Delivery {
  readonly answer: IncomingAnswer;
  readonly from: URL;
}

/** How to ask for what a person has to approve first. */
export interface Waiting {
  /** How long it waits for the decision. */
  readonly waitSeconds?: number | undefined;
  /** What the person reads: at most 500 characters. */
  readonly reason?: string | undefined;
}

/** @param asks whether an owner has it put before a person, which an agent's request does by itself */
type Asking = Waiting & { readonly asks?: true };

const TRIES = 3;
/** Beyond it, waiting is the caller's to decide about. */
const MAX_PAUSE_S = 30;
/** An answer that wants to be asked again at once gets that much rest. */
const MIN_PAUSE_MS = 250;

/**
 * Fetches a credential from the webhook, with a ticket of the control plane. A ticket works once, so an answer that
 * says "later" takes both steps again; the webhook gets the ticket alone, no key and no cookie.
 * @throws Failure for everything but a delivery; under `--dry-run` DryRunDone, both steps shown
 */
export async function fetchDelivery(
  invocation: Invocation,
  client: ApiClient,
  name: string,
  waiting: Waiting = {},
): Promise<Delivery> {
  for (let tries = 1; ; tries += 1) {
    const attempt = await fetchOnce(invocation, client, name, waiting);
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
  waiting: Asking,
): Promise<Delivery | { readonly later: Failure }> {
  const asking = approvedAddress(invocation, client, name, waiting);
  const from = await orElse<URL | Failure>(asking, (error) => {
    if (error.exit !== 'unavailable' || error.retryAfterSeconds === undefined) throw error;
    return error;
  });
  // The control plane knows that the webhook is away.
  if (from instanceof Failure) return { later: from };
  endWhereDry(invocation, { method: 'GET', url: from });
  const webhookUrl = webhookOf(from, '/v1/credential');
  await mustNotBeAnother(invocation, client.login, { webhookUrl, shown: from.origin });
  const delivery = await orElse<Delivery | Failure>(
    atWebhook(client.login, deliveryAt(invocation, from)),
    (failure) => failure,
  );
  if (!(delivery instanceof Failure)) return delivery;
  const refused = delivery;
  const { kind } = client.login.context;
  if (refused.code === 'APPROVAL_REQUIRED' && kind === 'admin' && waiting.asks !== true)
    return fetchOnce(invocation, client, name, { ...waiting, asks: true });
  if (refused.retryAfterSeconds !== undefined && isTemporary(refused)) return { later: refused };
  // What the webhook says of a ticket is for who kept one too long; this one is new.
  if (refused.code === 'TICKET_INVALID') throw refused.saying(NEW_TICKET_REFUSED);
  if (refused.code !== 'NOT_FOUND') throw refused;
  throw refused.saying(`the webhook holds nothing for ${name}; svault set ${name} stores it`, 'notFound');
}

async function deliveryAt(invocation: Invocation, from: URL): Promise<Delivery> {
  const answer = await send(invocation, { method: 'GET', url: from });
  if (answer.status !== 200) throw refusalOf(answer, from);
  return { answer, from };
}

/** A control plane holds a request open this long. */
const MAX_HELD_S = 30;
/** One that does not hold it, since too many wait, is not asked more often than this. */
const MIN_BETWEEN_MS = 2_000;

/** As `credentialAddress`; where a person has to approve it first, says where, and waits for the decision. */
async function approvedAddress(
  invocation: Invocation,
  client: ApiClient,
  name: string,
  { waitSeconds, reason, asks }: Asking,
): Promise<URL> {
  if (waitSeconds === undefined) return credentialAddress(client, name, { reason, ...(asks && { asks }) });
  const endMs = performance.now() + waitSeconds * 1_000;
  // The first is answered at once, so that a person reads where it is decided.
  for (let heldS = 0, isSaid = false; ;) {
    const startMs = performance.now();
    const found = await orElse<URL | Failure>(
      credentialAddress(client, name, { reason, waitSeconds: heldS }),
      (failure) => failure,
    );
    if (!(found instanceof Failure)) return found;
    const { approval } = found;
    const nowMs = performance.now();
    if (approval?.status !== 'pending' || nowMs >= endMs) throw found;
    if (!isSaid) {
      say(invocation, `${name} waits for an approval: ${approval.url}`);
      isSaid = true;
    }
    const isToBeHeld = heldS === 0 && client.login.context.kind === 'agent';
    const pauseMs = isToBeHeld ? 0 : Math.max(0, MIN_BETWEEN_MS - (nowMs - startMs));
    await sleep(Math.min(pauseMs, endMs - nowMs), undefined, { signal: invocation.signal });
    heldS = Math.min(MAX_HELD_S, Math.max(1, Math.ceil((endMs - performance.now()) / 1_000)));
  }
}

/** Protocol section 5.4: what the same request may be answered otherwise, a little later. */
const isTemporary = ({ exit, code }: Failure): boolean =>
  code === 'REFRESH_NEEDED' || exit === 'unavailable' || exit === 'rateLimited';

const NEW_TICKET_REFUSED =
  'the webhook refused a new ticket: wait 30 seconds after a restore; otherwise run svault doctor';

/** A ticket has at most 4096 characters (protocol section 4), and a webhook's address 2048. */
const MAX_CHARACTERS = 8_192;
const SHOWN_CHARACTERS = 100;

/** Stands for the address under `--dry-run`. */
const SOMEWHERE = `${SOME_WEBHOOK}/v1/credential?ticket=-`;

const ticketSchema = z.looseObject({ url: z.string() });

/**
 * Where the webhook gives a credential out, once: as an agent what the control plane redirects to ("GET
 * /api/agents/credentials"), as an admin what it makes on request. The redirect is not followed here.
 * @param name of the token
 * @throws Failure
 */
async function credentialAddress(client: ApiClient, name: string, waiting: Asking): Promise<URL> {
  const { kind, baseUrl } = client.login.context;
  const { host } = new URL(baseUrl);
  const text =
    kind === 'agent' ? await redirectFor(client, name, waiting) : await ticketFor(client, name, waiting);
  const address = text.length > MAX_CHARACTERS ? undefined : safeAddress(text);
  if (address === undefined || address.hash !== '')
    throw failed(
      `${host} points to ${plainLine(text.slice(0, SHOWN_CHARACTERS))}${text.length > SHOWN_CHARACTERS ? '…' : ''}, which is not opened: https:// is, and http:// on this machine`,
    );
  return address;
}

function redirectFor(client: ApiClient, name: string, { waitSeconds, reason }: Waiting): Promise<string> {
  const wait = waitSeconds?.toString();
  // This client takes JSON, which alone would be answered without a redirect.
  const query = { service: name, redirect: 'true', wait, reason };
  return client.readRedirect(withQuery('/api/agents/credentials', query), SOMEWHERE);
}

/** No `jkt`: an admin’s login keeps no key that would open what is sealed. */
async function ticketFor(
  client: ApiClient,
  name: string,
  { waitSeconds, reason, asks }: Asking,
): Promise<string> {
  const isAsked = asks === true || waitSeconds !== undefined || reason !== undefined;
  const body = isAsked ? { approval: given({ reason }) } : {};
  const path = `${tokenPath(name)}/credential-ticket`;
  const dryAnswer = { url: SOMEWHERE };
  const change = client.change({ method: 'POST', path, body, schema: ticketSchema, dryAnswer });
  return (await aboutToken(name, change)).url;
}
