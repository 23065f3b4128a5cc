import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import { referred } from '../../api/resource.ts';
import { PROXY } from '../../api/resources.ts';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { Failure, Interrupted, orElse, usage } from '../../failure.ts';
import { withQuery } from '../../json-in.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { jsonLine, jsonText } from '../../output/json-text.ts';
import { plainLine } from '../../output/plain-line.ts';
import { type Shape, printList, printOne } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { timeFrom } from '../../api/time-from.ts';
import type { ExportOptions } from './export-log.ts';
import type { FileOptions } from './verify-file.ts';

const text = z.string().optional();
const eventSchema = z.looseObject({
  seq: z.number(),
  id: z.string(),
  eventType: z.string(),
  timestamp: z.string(),
  outcome: z.string(),
  agentId: text,
  agentName: text,
  proxyId: text,
  proxyName: text,
  userId: text,
  userEmail: text,
  adminKeyName: text,
  serviceName: text,
  count: z.number().optional(),
  detail: z.looseObject({}).optional(),
  origin: z
    .looseObject({ requestId: text, channel: text, address: text, authenticatedBy: text, userAgent: text })
    .default({}),
  delivery: z.looseObject({ status: z.string(), code: text }).optional(),
});
type Event = z.infer<typeof eventSchema>;

const whatOf = ({ eventType, count = 1 }: Event): string =>
  count > 1 ? `${eventType} ×${count}` : eventType;

/** Who caused it; '' for what svault does by itself, such as noting that a grant has expired. */
function byOf({ eventType, userId, userEmail, adminKeyName, ...event }: Event): string {
  if (adminKeyName !== undefined) return `admin key (${adminKeyName})`;
  if (userId !== undefined) return userEmail ?? userId;
  if (eventType === PROXY_USE) return event.proxyName ?? event.proxyId ?? '';
  return eventType === AGENT_ACCESS ? (event.agentName ?? event.agentId ?? '') : '';
}

/** The agent and the proxy that it is about, where they did not cause it. */
const onOf = ({ eventType, agentName, agentId, proxyName, proxyId }: Event): string =>
  [
    eventType === AGENT_ACCESS ? undefined : (agentName ?? agentId),
    eventType === PROXY_USE ? undefined : (proxyName ?? proxyId),
  ]
    .filter((name) => name !== undefined)
    .join(', ');

const AGENT_ACCESS = 'AGENT_CREDENTIAL_ACCESS';
const PROXY_USE = 'PROXY_CREDENTIAL_USE';
const fromOf = ({ origin: { address, channel } }: Event): string =>
  [address, channel].filter((part) => part !== undefined).join(' ');
const detailsOf = ({ detail = {} }: Event): string =>
  Object.entries(detail)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`)
    .join('; ');

const DELIVERIES: Readonly<Record<string, string>> = {
  delivered: 'success',
  pending: 'not fetched yet',
  not_fetched: 'not fetched',
  unknown: 'allowed, delivery unknown',
};
/** Nobody fetches the ticket of a proxied call. */
const PROXIED: Readonly<Record<string, string>> = {
  ...DELIVERIES,
  pending: 'not delivered yet',
  unknown: 'delivery unknown',
};

/** An issued ticket is a success only where the webhook's log says that the credential was delivered. */
function outcomeOf({ eventType, outcome, delivery }: Event): string {
  if (delivery === undefined) return outcome;
  const { status, code } = delivery;
  const words = eventType === PROXY_USE ? PROXIED : DELIVERIES;
  return words[status] ?? [status, code].filter((part) => part !== undefined).join(' ');
}

const EVENTS: Shape<Event> = {
  columns: [
    { title: 'when', of: ({ timestamp }, { time }) => time(timestamp), whole: true },
    { title: 'what', of: whatOf },
    {
      title: 'outcome',
      of: outcomeOf,
      tone: (event) => (outcomeOf(event) === 'success' ? undefined : 'yellow'),
      whole: true,
    },
    { title: 'credential', of: ({ serviceName = '' }) => serviceName },
    { title: 'by', of: byOf },
    { title: 'on', of: onOf },
    { title: 'from', of: fromOf },
    { title: 'detail', of: detailsOf },
    { title: 'id', of: ({ id }) => id, wide: true },
    { title: 'number', of: ({ seq }) => String(seq), wide: true },
    { title: 'request', of: ({ origin }) => origin.requestId ?? '', wide: true },
    { title: 'key or session', of: ({ origin }) => origin.authenticatedBy ?? '', wide: true },
    { title: 'user agent', of: ({ origin }) => origin.userAgent ?? '', wide: true },
  ],
  name: ({ id }) => id,
  none: 'nothing of that kind has happened',
};

interface Options {
  readonly agent?: string;
  readonly proxy?: string;
  readonly service?: string;
  readonly type?: string;
  readonly outcome?: string;
  readonly channel?: string;
  readonly address?: string;
  readonly request?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: string;
  readonly follow?: true;
}

const DEFAULT_LIMIT = 50;

/** `audit list` */
export const listEvents: Run<[], Options> = async (invocation, _, options) => {
  const { limit = String(DEFAULT_LIMIT), follow } = options;
  if (!/^[1-9]\d{0,5}$/.test(limit)) throw usage('--limit takes a whole number from 1 to 999999');
  if (follow === true && (options.to !== undefined || options.limit !== undefined))
    throw usage('--follow goes on until Ctrl-C: leave --to and --limit out');
  const client = await apiClient(invocation);
  const path = await pathFor(client, options);
  if (follow === true) return followLog(invocation, client, path);
  printList(invocation, await client.readAll(path, eventSchema, Number(limit)), EVENTS);
};

/** `audit show NUMBER` */
export const showEvent: Run<[number: string]> = async (invocation, [number]) => {
  if (!/^[1-9]\d{0,14}$/.test(number))
    throw usage(
      `“${plainLine(number)}” is not the number of an event: svault audit --format wide lists them`,
    );
  const client = await apiClient(invocation);
  const path = withQuery(`/api/audit/${number}`, { delivery: 'true' });
  const event = await orElse(client.read(path, eventSchema), (error) => {
    if (error.exit !== 'notFound') throw error;
    throw new Failure(
      'notFound',
      `there is no event ${number} in the log: svault audit --format wide lists the newest`,
    );
  });
  printOne(invocation, event, { ...EVENTS, name: () => number });
};

async function pathFor(client: ApiClient, options: Options): Promise<string> {
  const { agent, proxy, service, type, outcome, channel, address, request, from, to, follow } = options;
  const nowMs = Date.now();
  return withQuery('/api/audit', {
    ...{ outcome, channel, address, requestId: request },
    // Of an event that has just been written, nobody knows yet what becomes of its ticket.
    delivery: follow === true ? undefined : 'true',
    agentId: agent === undefined ? undefined : (await agentReferred(client, agent)).id,
    proxyId: proxy === undefined ? undefined : (await referred(client, PROXY, proxy)).id,
    serviceName: service === undefined ? undefined : serviceNameFrom(service),
    eventType: type?.toUpperCase().replaceAll('-', '_'),
    from: from === undefined ? undefined : timeFrom(from, nowMs, '--from'),
    to: to === undefined ? undefined : timeFrom(to, nowMs, '--to'),
  });
}

const PAUSE_MS = 1_000;
/** Before the first new one, so that a reader sees that it works. */
const SHOWN_BEFORE = 10;

/** Prints the last events, then each new one. Ends with Ctrl-C. @throws Interrupted */
async function followLog(invocation: Invocation, client: ApiClient, path: string): Promise<never> {
  let last = 0;
  for (let isFirst = true; ; isFirst = false) {
    const events = isFirst
      ? await client.readAll(path, eventSchema, SHOWN_BEFORE)
      : await eventsSince(client, path, last);
    for (const event of events.toReversed()) invocation.terminal.out(lineOf(invocation, event));
    last = Math.max(last, ...events.map(({ seq }) => seq));
    try {
      await sleep(PAUSE_MS, undefined, { signal: invocation.signal });
    } catch {
      throw new Interrupted();
    }
  }
}

/** Newest first. More than one page is read only where that much is new. */
async function eventsSince(client: ApiClient, path: string, last: number): Promise<readonly Event[]> {
  for (let limit = 20; ; limit *= 10) {
    const events = await client.readAll(path, eventSchema, limit);
    const fresh = events.filter(({ seq }) => seq > last);
    if (fresh.length < events.length || events.length < limit) return fresh;
  }
}

function lineOf({ flags }: Invocation, event: Event): string {
  if (flags.format === 'json') return jsonLine(event);
  if (flags.format === 'name') return `${plainLine(event.id)}\n`;
  const { timestamp, outcome, serviceName = '-' } = event;
  const words = [
    timestamp,
    whatOf(event),
    outcome,
    serviceName,
    byOf(event),
    onOf(event),
    fromOf(event),
    detailsOf(event),
  ];
  return `${plainLine(words.filter((word) => word !== '').join('  '))}\n`;
}

const verdictSchema = z.looseObject({
  intact: z.boolean(),
  events: z.number().optional(),
  head: z.looseObject({ seq: z.number(), hash: z.string() }).optional(),
  seq: z.number().optional(),
  problem: z.string().optional(),
});

/** `audit verify`: exit 8 where the log, or an exported file, is not what was written. */
export const verifyLog: Run<[file: string | undefined], FileOptions> = async (
  invocation,
  [file],
  options,
) => {
  if (file !== undefined) return (await import('./verify-file.ts')).verifyFile(invocation, file, options);
  if (Object.keys(options).length > 0)
    throw usage(
      '--checkpoint, --head, --key and --previous are for an exported file: svault audit verify FILE',
    );
  const client = await apiClient(invocation);
  const verdict = await client.read('/api/audit/verify', verdictSchema);
  const { intact, events = 0, head, seq, problem = 'changed' } = verdict;
  if (invocation.flags.format === 'json') invocation.terminal.out(jsonText(verdict));
  if (!intact)
    throw new Failure(
      'differs',
      `the log is not what was written: event ${seq ?? '?'} is ${problem}; compare with the webhook’s own copy (its command audit verify)`,
    );
  const end = head === undefined ? '' : `; the last, number ${head.seq}, has the hash ${head.hash}`;
  say(invocation, `the log is intact: ${events} events${end}`);
};

/** `audit checkpoint`, which the other commands start without. */
export const showCheckpoint: Run<[], { readonly keys?: boolean }> = async (invocation, _none, options) =>
  (await import('./checkpoint.ts')).showCheckpoint(invocation, options);

/** `audit export`, in the same way. */
export const exportLog: Run<[], ExportOptions> = async (...given) => {
  const { exportLog: run } = await import('./export-log.ts');
  return run(...given);
};

/** `audit compare`, in the same way. */
export const compareLogs: Run<[copy: string, log: string | undefined]> = async (...given) => {
  const { compareLogs: run } = await import('./compare-logs.ts');
  return run(...given);
};
