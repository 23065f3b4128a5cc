import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { aboutToken, serviceNameFrom, tokenPath } from '../../api/service-name.ts';
import { failed, unavailable, usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { oneByOne, unique } from '../../one-by-one.ts';
import { jsonText } from '../../output/json-text.ts';
import { plainLine } from '../../output/plain-line.ts';
import { type Shape, printAnswers, printDone, printList, printOne } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { confirm } from '../../secret-input/ask.ts';
import {
  type StoreAddress,
  storeAddressSchema,
  storeDestination,
} from '../../webhook-direct/store-secret.ts';
import { updatedText } from '../option-flags.ts';
import { type DescriptionOptions, describedBy, versionToReplace } from './options.ts';
import { tokenSchema } from './token.ts';

/** `tokens edit SERVICE` */
export const editToken: Run<[string], DescriptionOptions> = async (invocation, [service], options) => {
  const name = serviceNameFrom(service);
  const body = describedBy(options);
  if (Object.keys(body).length === 0)
    throw usage('say what to change: --name, --description, --notes, --tags');
  const client = await apiClient(invocation);
  const change = client.change({ method: 'PATCH', path: tokenPath(name), body, schema: tokenSchema });
  const answer = await aboutToken(name, change);
  printDone(invocation, { said: updatedText(name, body), answer, name });
};

const removalSchema = z.looseObject({ serviceName: z.string(), webhook: z.string() });

const RECORDS: Readonly<Record<string, string>> = {
  deleted: 'its record at the webhook too, which keeps it for 7 days',
  absent: 'the webhook held nothing for it',
  unreachable: 'the webhook does not answer and still has its record',
  not_bound: 'no webhook is bound that could hold its record',
};

/** `tokens rm SERVICE…` */
export const removeTokens: Run<[readonly string[]], { readonly yes?: true }> = async (
  invocation,
  [services],
  { yes },
) => {
  const names = unique(services.map(serviceNameFrom));
  const client = await apiClient(invocation);
  await confirm(
    invocation,
    `Delete ${names.join(', ')}, with every grant for ${names.length === 1 ? 'it' : 'them'} and what the webhook holds?`,
    { yes },
  );
  const { done, failure } = await oneByOne(invocation, names, async (name) => {
    const change = client.change({ method: 'DELETE', path: tokenPath(name), schema: removalSchema });
    const removal = await aboutToken(name, change);
    say(invocation, `${name} is deleted; ${RECORDS[removal.webhook] ?? `its record: ${removal.webhook}`}`);
    return removal;
  });
  printAnswers(invocation, done);
  if (failure !== undefined) throw failure;
  const left = done.filter(({ webhook }) => webhook === 'unreachable').map(({ serviceName }) => serviceName);
  if (left.length > 0)
    throw unavailable(
      `the webhook still holds what ${left.join(', ')} was; when it is back: svault rm ${left.join(' ')}`,
    );
};

const refreshSchema = z.looseObject({
  outcome: z.string(),
  expiryTime: z.string().optional(),
  providerReason: z.string().optional(),
});
type RefreshAnswer = z.infer<typeof refreshSchema>;

/** `tokens refresh SERVICE` */
export const refreshToken: Run<[string]> = async (invocation, [service]) => {
  const name = serviceNameFrom(service);
  const client = await apiClient(invocation);
  const path = `${tokenPath(name)}/refresh`;
  const answer = await aboutToken(name, client.change({ method: 'POST', path, schema: refreshSchema }));
  const said = doneOf(name, answer);
  if (said !== undefined) return printDone(invocation, { said, answer, name });
  if (invocation.flags.format === 'json') invocation.terminal.out(jsonText(answer));
  throw failed(problemOf(name, answer));
};

function doneOf(name: string, { outcome, expiryTime }: RefreshAnswer): string | undefined {
  switch (outcome) {
    case 'refreshed':
      return `${name} is refreshed${expiryTime === undefined ? '' : `, and holds until ${expiryTime}`}`;
    case 'accepted':
      return `the webhook refreshes ${name}; svault show ${name} shows when it is done`;
    default:
      return undefined;
  }
}

function problemOf(name: string, { outcome, providerReason }: RefreshAnswer): string {
  const said = providerReason === undefined ? '' : ` (${plainLine(providerReason)})`;
  switch (outcome) {
    case 'failed':
      return `the provider of ${name} gave no new token${said}; the old one is kept: svault tokens refresh ${name} tries again`;
    case 'not_refreshable':
      return `${name} cannot be refreshed: it was stored without a provider or without a refresh token`;
    case 'provider_not_configured':
      return `only the control plane can refresh ${name}, and it has no setting for this provider’s address and client; add one in its console`;
    case 'reauth_needed':
      return `the provider of ${name} no longer accepts its refresh token${said}: authorize again there, and store the new token with svault set ${name}`;
    default:
      return `${name} is not refreshed: ${plainLine(outcome)}`;
  }
}

const eventSchema = z.looseObject({
  id: z.string(),
  eventType: z.string(),
  timestamp: z.string(),
  outcome: z.string(),
  agentId: z.string().optional(),
  proxyId: z.string().optional(),
  userId: z.string().optional(),
  count: z.number().optional(),
  detail: z.looseObject({}).optional(),
});
type Event = z.infer<typeof eventSchema>;

/** `tokens history SERVICE` */
export const tokenHistory: Run<[string], { readonly limit: string }> = async (
  invocation,
  [service],
  { limit },
) => {
  const name = serviceNameFrom(service);
  if (!/^[1-9]\d{0,5}$/.test(limit)) throw usage('--limit takes a whole number from 1 to 999999');
  const client = await apiClient(invocation);
  const path = `${tokenPath(name)}/history`;
  const events = await aboutToken(name, client.readAll(path, eventSchema, Number(limit)));
  printList(invocation, events, EVENTS);
};

const EVENTS: Shape<Event> = {
  columns: [
    { title: 'when', of: ({ timestamp }, { time }) => time(timestamp), whole: true },
    { title: 'what', of: ({ eventType, count = 1 }) => (count > 1 ? `${eventType} ×${count}` : eventType) },
    {
      title: 'outcome',
      of: ({ outcome }) => outcome,
      tone: ({ outcome }) => (outcome === 'success' ? undefined : 'yellow'),
      whole: true,
    },
    { title: 'by', of: ({ agentId, proxyId, userId }) => agentId ?? proxyId ?? userId ?? '' },
    {
      title: 'detail',
      of: ({ detail = {} }) =>
        Object.entries(detail)
          .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
          .join(', '),
      wide: true,
    },
    { title: 'id', of: ({ id }) => id, wide: true },
  ],
  name: ({ id }) => id,
  none: 'nothing has happened with it',
};

/** `tokens store-ticket SERVICE` */
export const storeTicket: Run<[string], { readonly ifVersion?: string }> = async (
  invocation,
  [service],
  { ifVersion },
) => {
  const name = serviceNameFrom(service);
  const body = versionToReplace(ifVersion);
  const client = await apiClient(invocation);
  const path = `${tokenPath(name)}/store-ticket`;
  const change = client.change({ method: 'POST', path, body, schema: storeAddressSchema });
  const address = await aboutToken(name, change);
  // Whoever reads it sends a secret there.
  await storeDestination(invocation, client.login, address);
  printOne(invocation, address, ADDRESS);
};

const ADDRESS: Shape<StoreAddress> = {
  columns: [
    { title: 'address', of: ({ url }) => url },
    { title: 'ticket', of: ({ ticket }) => ticket },
    { title: 'expires', of: ({ expiresAt }, { time }) => time(expiresAt) },
  ],
  name: ({ ticket }) => ticket,
};
