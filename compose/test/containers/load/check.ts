import { tracesOf } from '@svault/test-kit/secret-forms';
import type { Machine } from '../engine/machine.ts';
import { CONTROL_PLANES } from '../scale/scale.ts';
import { type Fate, unexcused } from './book.ts';
import type { Access, Change, Written } from './clients.ts';
import type { LoadRun } from './load.ts';
import type { World } from './world.ts';

interface Event {
  readonly id: string;
  readonly eventType: string;
  readonly timestamp: string;
  readonly outcome: string;
  readonly agentId?: string;
  readonly proxyId?: string;
  readonly serviceName?: string;
  readonly detail?: { readonly name?: string };
}

/**
 * Holds everything that a load run was answered against what is there now.
 *
 * @returns what does not fit, in words; nothing where all holds
 */
export async function holdAgainst(world: World, run: LoadRun): Promise<readonly string[]> {
  const events = await eventsSince(world, run.from);
  return [
    ...run.book.wrong,
    ...unexcused(run.book),
    ...(await changesThatDoNotHold(world, run)),
    ...eventsThatDoNotFit(run.written, events),
    ...accessesThatDoNotFit(run, run.reads, eventsOf(events, 'AGENT_CREDENTIAL_ACCESS', 'agentId')),
    ...accessesThatDoNotFit(run, run.calls, eventsOf(events, 'PROXY_CREDENTIAL_USE', 'proxyId')),
    ...(await repeatedCalls(world, run)),
    ...(await brokenLogs(world)),
    ...(await secretsInLogs(world, run)),
  ];
}

async function eventsSince({ scale }: World, from: string): Promise<readonly Event[]> {
  const events: Event[] = [];
  for (let cursor = ''; ;) {
    const page = await scale.admin.call<{ items: readonly Event[]; nextCursor?: string }>(
      'GET',
      `/api/audit?limit=100&from=${from}${cursor}`,
    );
    events.push(...page.items);
    if (page.nextCursor === undefined) return events;
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}

/** Successful ones, by whose they are. */
function eventsOf(events: readonly Event[], type: string, by: 'agentId' | 'proxyId'): Map<string, Event[]> {
  const ours = events.filter(({ eventType, outcome }) => eventType === type && outcome === 'success');
  return Map.groupBy(ours, (event) => event[by] ?? '');
}

const fits = (fate: Fate, isThere: boolean): boolean => fate === 'unknown' || (fate === 'done') === isThere;

/** Each agent, grant and credential as it was answered to be. */
async function changesThatDoNotHold(world: World, { written }: LoadRun): Promise<readonly string[]> {
  const problems: string[] = [];
  const look = async ({ name, agentId, changes, values }: Written): Promise<void> => {
    if (agentId === '') return;
    const { admin } = world.scale;
    const { status } = await admin.call<{ status: string }>('GET', `/api/agents/${agentId}`);
    if (!fits(changes.suspend, status === 'suspended')) problems.push(`${name} is ${status}`);
    const { items } = await admin.call<{ items: readonly { serviceName: string }[] }>(
      'GET',
      `/api/agents/${agentId}/grants`,
    );
    const isGranted = items.some(({ serviceName }) => serviceName === name);
    const granted = changes.revoke === 'refused' ? changes.grant : flipped(changes.revoke);
    if (!fits(granted, isGranted)) problems.push(`${name}: the grant ${isGranted ? 'is there' : 'is gone'}`);
    if (changes.store !== 'done') return;
    const delivered = await fetchAsOwner(world, name);
    if (!values.includes(delivered)) problems.push(`${name}: ${delivered} is delivered`);
  };
  await inLanes(written, look);
  return problems;
}

const flipped = (revoke: Fate): Fate => (revoke === 'done' ? 'refused' : 'unknown');

async function fetchAsOwner({ scale }: World, name: string): Promise<string> {
  const { url } = await scale.admin.call<{ url: string }>(
    'POST',
    `/api/tokens/${name}/credential-ticket`,
    {},
  );
  const answer = (await (await scale.send(url)).json()) as { token?: { accessToken: string }; code?: string };
  return answer.token?.accessToken ?? String(answer.code);
}

const LANES = 6;

/** A few at a time. */
async function inLanes<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const lane = async (): Promise<void> => {
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) await act(next);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

const EVENTS: readonly (readonly [Change, string])[] = [
  ['agent', 'AGENT_CREATED'],
  ['token', 'TOKEN_CREATED'],
  ['grant', 'GRANT_CREATED'],
  ['revoke', 'GRANT_REVOKED'],
  ['suspend', 'AGENT_SUSPENDED'],
];

/** Each change that was answered has its event, once; no event is of something that nobody asked for. */
function eventsThatDoNotFit(written: readonly Written[], events: readonly Event[]): readonly string[] {
  const problems: string[] = [];
  const nameOf = new Map(written.map(({ agentId, name }) => [agentId, name]));
  const counts = new Map<string, number>();
  for (const { eventType, agentId = '', serviceName, detail } of events) {
    const key = `${eventType} ${serviceName ?? detail?.name ?? nameOf.get(agentId)}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const [change, eventType] of EVENTS) {
    for (const { name, changes } of written) {
      const count = counts.get(`${eventType} ${name}`) ?? 0;
      counts.delete(`${eventType} ${name}`);
      if (count > 1 || !fits(changes[change], count === 1))
        problems.push(`${change} ${name} was ${changes[change]}, and has ${count} of ${eventType}`);
    }
    for (const key of counts.keys())
      if (key.startsWith(`${eventType} `)) problems.push(`nobody asked for ${key}`);
  }
  if (new Set(events.map(({ id }) => id)).size !== events.length) problems.push('an event is there twice');
  return problems;
}

/**
 * Each answered access has its event within the time that it took, and one only; one that was not answered has one at most,
 * which may come while its client is at a later one. Where a part broke, the proxy may have asked a second time for a GET
 * that it got no answer to.
 */
function accessesThatDoNotFit(
  { book }: LoadRun,
  accesses: readonly Access[],
  events: ReadonlyMap<string, readonly Event[]>,
): readonly string[] {
  const problems: string[] = [];
  for (const [by, ours] of Map.groupBy(accesses, (access) => access.by)) {
    const times = (events.get(by) ?? [])
      .map(({ timestamp }) => Date.parse(timestamp))
      .toSorted((a, b) => a - b);
    const mayComeLate: Access[] = [];
    for (const access of ours) {
      const { fate, sentAt, answeredAt, callId } = access;
      const from = times.findIndex((time) => time >= sentAt && time <= answeredAt);
      const count = from === -1 ? 0 : times.slice(from).filter((time) => time <= answeredAt).length;
      const isRepeatable =
        callId === undefined &&
        book.windows.some((window) => sentAt <= window.to && answeredAt >= window.from);
      if (count > 0) times.splice(from, isRepeatable ? count : 1);
      if (fate === 'done' && count === 0) problems.push(`an access of ${by} that was done has no event`);
      if (fate === 'unknown' && (count === 0 || isRepeatable)) mayComeLate.push(access);
    }
    for (const time of times) {
      const of = mayComeLate.findIndex(({ sentAt }) => sentAt <= time);
      if (of === -1) problems.push(`an event of ${by} at ${new Date(time).toISOString()} is of no access`);
      else mayComeLate.splice(of, 1);
    }
  }
  return problems;
}

/** A call through a proxy reaches the upstream once if it was answered, and never twice. */
async function repeatedCalls(world: World, { calls }: LoadRun): Promise<readonly string[]> {
  const seen = await world.seen();
  const problems = calls.flatMap(({ callId = '', fate }) => {
    const count = seen.calls[callId] ?? 0;
    return count > 1 || (fate === 'done' && count !== 1)
      ? [`a call that was ${fate} reached the upstream ${count} times`]
      : [];
  });
  const others = seen.authorizations.filter((value) => value !== `Bearer ${world.value}`);
  return others.length === 0 ? problems : [...problems, `the upstream was sent ${others.join()}`];
}

/** Both logs are chains without a hole. */
async function brokenLogs({ scale }: World): Promise<readonly string[]> {
  const controlPlane = await scale.service('control-plane-1');
  const { exitCode, output } = await controlPlane.run(
    'node',
    '/svault/control-plane/dist/main.js',
    'audit',
    'verify',
  );
  await scale.elsewhere.subcommand('audit', 'verify');
  return exitCode === 0 ? [] : [`audit verify: ${output}`];
}

const SERVICES = [...CONTROL_PLANES, 'proxy', 'postgres', 'valkey'];

/** What neither a part of the control plane nor the webhook may write down. */
async function secretsInLogs(world: World, { book }: LoadRun): Promise<readonly string[]> {
  const { scale } = world;
  const problems: string[] = [];
  const parts = new Map<string, Machine>([['webhook', scale.elsewhere.webhook]]);
  for (const name of SERVICES) parts.set(name, await scale.service(name));
  for (const [part, machine] of parts) {
    const logs = await machine.logs();
    const found = [...book.secrets].filter((secret) => logs.includes(secret));
    if (tracesOf(world.value, Buffer.from(logs)).length > 0) found.push(world.value);
    if (found.length > 0)
      problems.push(`${part} has written down ${found.length} secrets, one is ${found[0]}`);
  }
  return problems;
}
