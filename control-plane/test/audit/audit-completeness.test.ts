import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { AUDIT_EVENT_TYPES, type AuditEventType } from '../../src/core/audit-event.ts';
import type { Database } from '../../src/store/database.ts';
import { CAUSES, type Cause, NEVER, type World, shipOnce } from '../support/audit-causes.ts';
import { operationsOf } from '../support/api-operations.ts';
import { makeOwnerLink, openBeside } from '../support/beside-the-service.ts';
import { startLinkedService } from '../support/linked-service.ts';
import { signInBy } from '../support/management-service.ts';
import type { LoggedEvent } from '../support/service-steps.ts';

/*
 * Every access, denial, grant change, key reveal, lock, bind, login and revocation is an event, written in the transaction
 * of its change. Each event type is caused by its route, and found once; while the log is not writable, neither the event
 * nor the change is there.
 */

let world: World;
/** Method and path of every call. */
const calls: (readonly [method: string | undefined, path: string])[] = [];
const { fetch: send } = globalThis;
/** The same database over another connection. */
let database: Database;

beforeAll(async () => {
  globalThis.fetch = (to, init) => {
    if (typeof to === 'string') calls.push([init?.method, new URL(to).pathname]);
    return send(to, init);
  };
  const service = await startLinkedService();
  await service.bind();
  const { admin } = service;
  const post: World['post'] = (path, body = {}) => admin('POST', path, { body });
  await post('/api/tokens', { serviceName: 'github', tokenType: 'PlainText' });
  const agent = await service.agent('github');
  const ownerId = (await admin('GET', '/api/me')).json.id;
  world = { service, admin, agent, ownerId, post };
  database = await openBeside(service);
});
afterAll(async () => {
  globalThis.fetch = send;
  await database.close();
  await world.service.stop();
});

/** Runs `work` while the log is not writable. */
async function withoutLog<T>(work: () => Promise<T>): Promise<T> {
  await sql`alter table audit_events rename to audit_events_away`.execute(database.kysely);
  try {
    return await work();
  } finally {
    await sql`alter table audit_events_away rename to audit_events`.execute(database.kysely);
  }
}

/** All that a decision about an access reads, except what accesses themselves write and tokens that are issued. */
const DECISION_ROWS = {
  vaults: 'SELECT id, locked_at FROM vaults',
  agents: 'SELECT id, status, mcp_enabled, sealing_key_thumbprint, key_hash FROM agents',
  grants: 'SELECT * FROM grants',
  policies: 'SELECT * FROM policies',
  attachments: 'SELECT * FROM policy_attachments',
  proxies:
    'SELECT id, status, agent_id, service_name, upstream_url, upstream_auth_type, header_templates, key_hash, revision FROM proxies',
  webhooks: 'SELECT vault_id, webhook_id, url, key_id FROM webhook_links',
} as const;
/** A new one takes nothing from an access that was allowed without it; a new policy or attachment may. */
const MAY_GROW: readonly string[] = ['agents', 'grants', 'proxies'];
/** Runs `work`, and expects a higher account revision if it changed what decisions read. */
async function raisingRevision<T>(work: () => Promise<T>): Promise<T> {
  const { state } = world.service.place;
  const read = async () => {
    const rows: Record<string, readonly string[]> = {};
    for (const [name, statement] of Object.entries(DECISION_ROWS))
      rows[name] = (await state.rows(statement)).map((row) => JSON.stringify(row)).toSorted();
    const sessions = await state.rows<{ readonly session_id: string }>(
      'SELECT session_id FROM oauth_sessions',
    );
    return { rows, sessions: sessions.map((row) => row.session_id) };
  };
  const revision = async () => Number(await state.value('SELECT sum(revision) FROM vaults'));
  const [before, revisionBefore] = [await read(), await revision()];
  const result = await work();
  const [after, revisionAfter] = [await read(), await revision()];
  const ended = before.sessions.filter((id) => !after.sessions.includes(id));
  if (revisionAfter !== revisionBefore) return result;
  const left = Object.entries(after.rows).map(([name, rows]) => [
    name,
    MAY_GROW.includes(name) ? rows.filter((row) => before.rows[name]?.includes(row)) : rows,
  ]);
  expect([Object.fromEntries(left), ended]).toEqual([before.rows, []]);
  return result;
}

type Event = LoggedEvent & { readonly userId?: string };
const newestNumber = async (): Promise<number> => (await world.service.log())[0]?.seq ?? 0;
const eventsSince = async (seq: number): Promise<Event[]> =>
  (await world.service.log()).filter((event) => event.seq > seq).toReversed();

const causes = Object.entries(CAUSES) as [AuditEventType, Cause][];

/** An upstream's response has no id of ours. */
const ANY = expect.any(String) as string;
const CHANNEL = expect.stringMatching(/^(rest|mcp|proxy|cli|console)$/) as string;

describe('the route that causes an event', () => {
  test.each(causes)('%s', async (type, cause) => {
    const of = (await cause.before?.(world)) ?? '';
    const state = async (): Promise<string | undefined> =>
      cause.shows && (await world.admin('GET', cause.shows(world, of))).text;
    const [seq, before] = [await newestNumber(), await state()];

    if (cause.later === undefined) {
      const refused = await withoutLog(() => cause.by(world, of));
      expect([refused.status >= 500, refused.text]).toEqual([true, refused.text]);
      expect(refused.headers.get('location')).toBeNull();
      const { error: _text, code: _code, requestId: _id, retryAfter: _after, ...shown } = refused.json;
      expect(shown).toEqual({});
      expect([await state(), await newestNumber()]).toEqual([before, seq]);
    }

    let requestId: string | undefined;
    await raisingRevision(async () => {
      const answer = await cause.by(world, of);
      ({ requestId } = answer);
      expect([answer.text, answer.status < 300 || cause.actor === 'agent']).toEqual([answer.text, true]);
      await vi.waitFor(
        async () => {
          if (cause.later) await shipOnce(world.service);
          expect((await eventsSince(seq)).map(({ eventType }) => eventType)).toContain(type);
        },
        { timeout: 15_000 },
      );
    });
    const events = await eventsSince(seq);
    expect(events.map(({ eventType }) => eventType)).toEqual(cause.events ?? [type]);
    const event = events.find(({ eventType }) => eventType === type);
    expect(event).toMatchObject({ outcome: 'success', ...cause.says?.(world, of) });
    const userId = cause.actor === undefined ? world.ownerId : undefined;
    const { proxyId } = cause.says?.(world, of) ?? {};
    expect([event?.userId, event?.proxyId]).toEqual([userId, proxyId]);
    if (cause.later === undefined && cause.actor !== 'service')
      expect(event?.origin).toMatchObject({
        requestId: requestId ?? ANY,
        address: '127.0.0.1',
        channel: CHANNEL,
      });
    if (cause.shows !== undefined && type !== 'AGENT_CREDENTIAL_ACCESS')
      expect(await state()).not.toBe(before);
    await cause.after?.(world);
  });
});

test('a request that changes nothing or is denied writes no event', async () => {
  const { admin, post, service } = world;
  const { id } = (await post('/api/agents', { name: 'quiet' })).json.agent;
  const link = await makeOwnerLink(service);
  await signInBy(service, link);
  const seq = await newestNumber();
  await post(`/api/agents/${id}/resume`);
  await admin('PATCH', `/api/agents/${id}`, { body: {} });
  await post('/api/vault/unlock');
  await post(`/api/agents/${id}/grants`, { serviceName: 'a/b' });
  await admin('DELETE', `/api/agents/${id}/grants/github`);
  await signInBy(service, link);
  expect(await eventsSince(seq)).toEqual([]);
});

// spec: Grant creation, webhook events and revocations are audited.
test('all events are in a chain that verifies', async () => {
  expect((await world.admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
});

describe('every event type', () => {
  test('has a route that causes it, or is listed as never written', () => {
    const listed = [...Object.keys(CAUSES), ...Object.keys(NEVER)];
    expect(listed.toSorted()).toEqual([...AUDIT_EVENT_TYPES].toSorted());
  });

  test.each(Object.entries(NEVER))('%s is caused by no route', async (_type, [method, path]) => {
    expect((await world.admin(method, path, { body: {} })).status).toBe(405);
  });
});

/** Routes that cause no event above: they change sign-ins, or nothing. */
const WITHOUT_DECISION_ROWS: readonly string[] = [
  'POST /api/login',
  'POST /api/logout',
  'POST /api/cli/login/begin',
  'POST /api/cli/login/exchange',
  'POST /api/cli/login/refresh',
  'POST /api/me/password',
  'POST /api/members/{id}/link',
  'POST /api/setup/steps/{step}',
  'POST /api/attention/seen',
  'POST /api/notifications/{id}/test',
  'POST /api/policies/preview',
  'POST /api/policies/simulate',
  'POST /api/proxies/{id}/reveal-key',
  'POST /api/reach/matrix',
];

test('every management route that may change what decisions read was among the causes', async () => {
  const operations = (await operationsOf(world.service.anyone)).filter(({ method }) => method !== 'GET');
  const unseen = operations.filter(
    ({ method, pattern }) => !calls.some(([by, path]) => by === method && pattern.test(path)),
  );
  expect(unseen.map(({ method, template }) => `${method} ${template}`)).toEqual(WITHOUT_DECISION_ROWS);
});
