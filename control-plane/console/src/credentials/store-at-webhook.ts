import {
  type StoreAnswer,
  type StoreBody,
  errorBodySchema,
  storeAnswerSchema,
  warningsOf,
} from '@svault/shared/schemas';
import { Problem, type Schemas } from '../api/client.ts';

const ENDPOINT = '/v1/store';
const MAX_WAIT_MS = 30_000;

/** The webhook that an address of a store leads to. @returns undefined for one that no secret is sent to: plain http, or no store */
function webhookOf(address: string): string | undefined {
  const url = URL.parse(address);
  if (url === null || /[?#@]/.test(address) || !url.href.endsWith(ENDPOINT)) return undefined;
  const isOnThisMachine = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isOnThisMachine)) return undefined;
  return url.href.slice(0, -ENDPOINT.length);
}

/**
 * Sends a secret from this browser to the webhook. A ticket that has expired meanwhile is replaced by a new one, once: a store
 * without a valid ticket stores nothing.
 *
 * @param store.webhook where the person was told that the secret goes
 * @param store.ticket asks the control plane for a ticket; called again for another one
 * @returns warnings for the person, with nothing of the secret in them
 * @throws Problem that says what to do
 */
export async function storeAtWebhook(store: {
  readonly webhook: string;
  readonly record: StoreBody;
  readonly ticket: () => Promise<Schemas['StoreAddress']>;
}): Promise<readonly string[]> {
  const { webhook, record, ticket } = store;
  const body = JSON.stringify(record);
  const attempt = async () => {
    const address = await ticket();
    const named = webhookOf(address.url);
    if (named !== webhook)
      throw new Problem(
        `The control plane names another webhook now: ${named ?? 'an address that is none'}. Nothing was sent. If you moved your webhook, reload this page.`,
      );
    return post(address, body);
  };
  const first = await attempt();
  const { warnings = [] } = answerIn(isExpiredTicket(first) ? await attempt() : first);
  // A webhook may know more to warn of, and another one nothing.
  return [...new Set([...warningsOf(record), ...warnings])];
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly host: string;
}

async function post({ url, ticket }: Schemas['StoreAddress'], body: string): Promise<Answer> {
  const { host } = new URL(url);
  let isBlocked = false;
  const onViolation = (): void => void (isBlocked = true);
  document.addEventListener('securitypolicyviolation', onViolation);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
      body,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(MAX_WAIT_MS),
    });
    return { status: response.status, body: await response.json().catch(() => undefined), host };
  } catch {
    if (isBlocked)
      throw new Problem(
        `This page was loaded before ${host} was the webhook, and may not send to it. Nothing was sent. Reload the page.`,
      );
    throw new Problem(
      `The webhook at ${host} did not answer this browser. Check that it runs and that this computer reaches it, then try again. What you typed is still here.`,
    );
  } finally {
    document.removeEventListener('securitypolicyviolation', onViolation);
  }
}

const codeOf = ({ body }: Answer): string | undefined => errorBodySchema.safeParse(body).data?.code;

const isExpiredTicket = (answer: Answer): boolean =>
  answer.status === 401 && codeOf(answer) === 'TICKET_INVALID';

function answerIn(answer: Answer): StoreAnswer {
  const stored = answer.status === 200 ? storeAnswerSchema.safeParse(answer.body).data : undefined;
  if (stored !== undefined) return stored;
  throw refusal(answer);
}

/** @returns what a refusal means, and what to do */
function refusal(answer: Answer): Problem {
  const { status, host } = answer;
  const code = codeOf(answer);
  switch (code) {
    case 'TICKET_INVALID':
      return new Problem(
        `The webhook at ${host} rejects tickets of this control plane. Nothing was stored. Compare the clocks of both machines, and look with svault webhook status.`,
      );
    case 'VERSION_CONFLICT':
      return new Problem(
        'A secret was stored here since this form was opened: by someone else, by a refresh, or by an attempt whose answer was lost. Nothing was changed now. Look at the credential, then decide.',
      );
    case 'ORIGIN_NOT_ALLOWED':
      return new Problem(
        `The webhook at ${host} is bound to another address than ${window.location.origin}. Nothing was stored. Open the console at that address, or bind the webhook again.`,
      );
    case 'INVALID_REQUEST':
      return new Problem(
        `The webhook at ${host} does not accept this form of secret. Nothing was stored. It may be an older version: update it, or check the fields.`,
      );
    case 'TOO_LARGE':
      return new Problem(`This is more than the webhook at ${host} takes. Nothing was stored.`);
    case 'RATE_LIMITED':
      return new Problem(
        `The webhook at ${host} has taken too much in a short time. Nothing was stored. Try again later.`,
      );
    default:
      return new Problem(
        `The webhook at ${host} failed (status ${status}${code === undefined ? '' : `, ${code}`}). Try again, and look at its log if it fails once more.`,
      );
  }
}
