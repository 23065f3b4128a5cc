import { type ChainedEvent, EMPTY_CHAIN, followChain } from '@svault/shared/audit-chain';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type TwoAccounts, twoAccounts } from '../isolation/accounts.ts';
import { type EventStream, followEvents } from '../support/event-stream.ts';
import { cookieBy } from '../support/consent-page.ts';
import { BASE_URL, type Call, clientOf } from '../support/management-service.ts';
import { serviceInTest, useService } from '../support/use-service.ts';

const HOUR_MS = 60 * 60_000;

const service = useService();

const keyHeaders = (key: string) => ({ authorization: `Bearer ${key}` });
const admin = () => keyHeaders(service.place.adminKey);

/** Opens a stream for the rest of a test, once it has all that there was. */
async function follow(
  headers: Readonly<Record<string, string>> = admin(),
  query = '',
  url = service.running.url,
): Promise<EventStream> {
  const stream = await followEvents(url, headers, query);
  onTestFinished(() => stream.close().catch(() => undefined));
  await stream.live();
  return stream;
}

let made = 0;
/** Causes one event. */
async function createFolder(call: Call = service.admin): Promise<void> {
  const body = { name: `folder ${++made}`, serviceNames: [] };
  expect((await call('POST', '/api/folders', { body })).status).toBe(201);
}

/** A few at once: changes of an account wait for each other, and are refused where they wait for too long. */
async function createFolders(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 10)
    await Promise.all(Array.from({ length: Math.min(left, 10) }, () => createFolder()));
}

/** A member in a browser. */
interface SignedIn {
  readonly id: string;
  readonly cookie: string;
  readonly session: Call;
}
async function signedInMember(): Promise<SignedIn> {
  const body = { email: `reader-${++made}@example.org`, role: 'member' };
  const { member, link } = (await service.admin('POST', '/api/members', { body })).json;
  const cookie = await cookieBy(service, link.url);
  return { id: member.id, cookie, session: clientOf(service.running.url, { cookie, origin: BASE_URL }) };
}

/** The whole log, oldest first. */
async function wholeLog(call: Call = service.admin): Promise<readonly { seq: number }[]> {
  const all: { seq: number }[] = [];
  for (let cursor = ''; ;) {
    const { items, nextCursor } = (await call('GET', `/api/audit?limit=100${cursor}`)).json;
    all.push(...items);
    if (nextCursor === undefined) return all.toReversed();
    cursor = `&cursor=${nextCursor}`;
  }
}
/** The data of an event without what its hash is verified by, which the list leaves out. */
function listed({ data }: Awaited<ReturnType<EventStream['end']>>[number]): unknown {
  const { vaultId, previousHash, ...event } = data as Readonly<Record<string, unknown>>;
  expect([vaultId, previousHash]).toEqual([
    expect.stringMatching(/^vlt_/),
    expect.stringMatching(/^[0-9a-f]{64}$/),
  ]);
  return event;
}
const headOf = async (call?: Call): Promise<number> => (await wholeLog(call)).at(-1)!.seq;

describe('GET /api/events', () => {
  test('gives each event as GET /api/audit has it, with its number as its id', async () => {
    const stream = await follow();
    await createFolder();
    const [sent] = await stream.first(1);
    const newest = (await service.admin('GET', '/api/audit?limit=1')).json.items[0];
    expect(sent).toMatchObject({ id: String(newest.seq), event: 'audit' });
    expect(listed(sent!)).toEqual(newest);
    expect(newest).toMatchObject({ eventType: 'FOLDER_CREATED', userEmail: 'owner@example.org' });
  });

  test('begins with the next event, unless it is told where to', async () => {
    await createFolder();
    const stream = await follow();
    expect(stream.text()).not.toContain('data:');
    await createFolder();
    expect((await stream.first(1))[0]!.data.seq).toBe(await headOf());
  });

  test('resumes without a gap or a twin while events are written', async () => {
    await createFolders(120);
    const first = await follow(admin(), '?after=0');
    const writing = createFolders(150);
    writing.catch(() => first.close());
    const seen = [...(await first.first(150))];
    await first.close();
    // As a browser comes again: at the same address.
    const again = { ...admin(), 'last-event-id': seen.at(-1)!.id };
    const second = await follow(again, '?after=0');
    await writing;
    const log = await wholeLog();
    seen.push(...(await second.first(log.length - seen.length)));
    expect(seen.map(listed)).toEqual(log);
    const chained = seen.map(({ data }) => data as ChainedEvent);
    expect(followChain(EMPTY_CHAIN, chained)).toMatchObject({ seq: log.length });
    const { previousHash } = seen[1]!.data as { readonly previousHash: string };
    expect(previousHash).toBe(seen[0]!.data.hash);
  });

  test('a number that the log has not reached begins with the next event', async () => {
    const stream = await follow(admin(), '?after=999999999');
    await createFolder();
    expect((await stream.first(1))[0]!.data.seq).toBe(await headOf());
  });

  test.each([
    ['?after=-1', {}, 'after'],
    ['?after=1.5', {}, 'after'],
    ['?after=', {}, 'after'],
    ['', { 'last-event-id': 'evt_1' }, 'Last-Event-ID'],
    ['', { 'last-event-id': '9'.repeat(40) }, 'Last-Event-ID'],
  ])('%j with %j is 422 INVALID_ARGUMENT', async (query, headers, path) => {
    const { status, json } = await service.admin('GET', `/api/events${query}`, { headers });
    expect([status, json.code, json.issues[0].path]).toEqual([422, 'INVALID_ARGUMENT', path]);
  });

  test('without a sign-in is 401', async () => {
    expect((await service.anyone('GET', '/api/events')).status).toBe(401);
  });

  test('HEAD ends at once', async () => {
    const { status, text } = await service.admin('HEAD', '/api/events');
    expect([status, text]).toEqual([200, '']);
  });
});

describe('a stream ends', () => {
  test.each<readonly [string, (member: SignedIn) => Promise<unknown>]>([
    ['at the sign-out', ({ session }) => session('POST', '/api/logout')],
    ['when its member is removed', ({ id }) => service.admin('DELETE', `/api/members/${id}`)],
  ])('%s, and that of another principal goes on', async (_when, change) => {
    const member = await signedInMember();
    const [theirs, others] = [await follow({ cookie: member.cookie }), await follow()];
    await change(member);
    await createFolder();
    const [, created] = await others.first(2);
    expect(created!.data.eventType).toBe('FOLDER_CREATED');
    expect(await theirs.end()).toEqual([]);
  });

  test('once its session has been idle for too long, since an open stream is no use of it', async () => {
    const member = await signedInMember();
    const stream = await follow({ cookie: member.cookie });
    const signOutAnother = async () => (await signedInMember()).session('POST', '/api/logout');
    service.clock.advance(7 * HOUR_MS);
    await signOutAnother();
    const typesTo = async (count: number) =>
      (await stream.first(count)).map(({ data }) => data.eventType as string);
    let count = 1;
    while (!(await typesTo(count)).includes('SESSION_REVOKED')) count++;
    service.clock.advance(2 * HOUR_MS);
    await signOutAnother();
    const types = (await stream.end()).map(({ data }) => data.eventType as string);
    expect(types.filter((type) => type === 'SESSION_REVOKED')).toHaveLength(1);
  });

  test('when its admin key is deleted', async () => {
    const { adminKey, key } = (await service.admin('POST', '/api/admin-keys', { body: { name: 'feed' } }))
      .json;
    const stream = await follow(keyHeaders(key));
    await service.admin('DELETE', `/api/admin-keys/${adminKey.id}`);
    expect(await stream.end()).toEqual([]);
  });

  test('in order when the program stops', async () => {
    const { running, admin: call, place } = await serviceInTest();
    const stream = await followEvents(running.url, keyHeaders(place.adminKey), '?after=0');
    await stream.live();
    const head = await headOf(call);
    const closing = running.close();
    expect((await stream.end()).at(-1)?.id).toBe(String(head));
    await closing;
  });
});

test('an account has 100 streams at once, one more is 429 RATE_LIMITED, and a closed one makes room', async () => {
  const { running, admin: call, place } = await serviceInTest();
  const open = () => followEvents(running.url, keyHeaders(place.adminKey));
  const streams = await Promise.all(Array.from({ length: 100 }, () => open()));
  const { status, json, headers } = await call('GET', '/api/events');
  expect([status, json.code, headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '30']);
  await streams[0]!.close();
  await expect.poll(async () => (await call('GET', '/api/events')).status).toBe(200);
  await Promise.all(streams.slice(1).map((stream) => stream.close()));
});

describe('with two accounts', () => {
  let accounts: TwoAccounts;
  beforeAll(async () => {
    accounts = await twoAccounts();
  });
  afterAll(() => accounts.stop());

  test('each account gets the events of its own log and no others', async () => {
    const { owner, stranger } = accounts;
    const open = async ({ signIn }: typeof owner) =>
      follow({ cookie: await signIn() }, '?after=0', accounts.service.running.url);
    const streams = [await open(owner), await open(stranger)];
    for (let n = 0; n < 5; n++) for (const { call } of [owner, stranger]) await createFolder(call);
    for (const [at, { call }] of [owner, stranger].entries()) {
      const log = await wholeLog(call);
      const sent = await streams[at]!.first(log.length);
      expect(sent.map(listed)).toEqual(log);
    }
  });
});
