import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ManagementService, serveOn } from '../support/management-service.ts';
import {
  type ClientSession,
  type OauthFixture,
  approve,
  callTool,
  connect,
  exchange,
  isActive,
  newAgent,
  postOauth,
  refresh,
  errorIn,
  sessionIn,
  startOauthFixture,
} from '../support/oauth-client.ts';

/* MCP clients' sessions with two services over one database: each step may go to either, and an end holds at both. */

let one: OauthFixture;
let other: OauthFixture;
beforeAll(async () => {
  one = await startOauthFixture();
  const service: ManagementService = await serveOn(one.service.place, one.service.clock);
  other = { ...one, service };
});
afterAll(async () => {
  await other?.service.running.close();
  await one?.service.stop();
});

const both = <T>(count: number, ask: (world: OauthFixture) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => ask(n % 2 ? one : other)));
const statusesOf = (session: ClientSession): Promise<number[]> =>
  both(6, async (world) => (await callTool(world, session)).status);

test('a code approved at one process is exchanged at the other, once of ten concurrent attempts', async () => {
  const code = await approve(one, await newAgent(one));
  const answers = await both(10, (world) => exchange(world, code));
  const good = answers.filter(({ status }) => status === 200);
  expect(good).toHaveLength(1);
  expect(await isActive(one, sessionIn(good[0]!, code))).toBe(false);
  const single = await approve(one, await newAgent(one));
  expect((await exchange(other, single)).status).toBe(200);
});

test('ten concurrent refreshes at two processes get one pair, and a late one ends the session', async () => {
  const session = await connect(one);
  const answers = await both(10, (world) => refresh(world, session));
  const pairs = answers.map((answer) => sessionIn(answer, session));
  expect(new Set(pairs.map(({ accessToken, refreshToken }) => accessToken + refreshToken)).size).toBe(1);
  expect(await statusesOf(pairs[0]!)).toEqual([200, 200, 200, 200, 200, 200]);
  one.service.clock.advance(10_001);
  const late = await both(10, (world) => refresh(world, session));
  expect(new Set(late.map(errorIn))).toEqual(new Set(['400 invalid_grant']));
  expect(errorIn(await refresh(other, pairs[0]!))).toBe('400 invalid_grant');
  expect(await statusesOf(pairs[0]!)).toEqual([401, 401, 401, 401, 401, 401]);
});

test('a session revoked at one process has ended at both', async () => {
  const session = await connect(one);
  expect(await statusesOf(session)).toEqual([200, 200, 200, 200, 200, 200]);
  const before = both(10, (world) => callTool(world, session));
  await postOauth(one.service, 'revoke', { token: session.accessToken });
  expect(await statusesOf(session)).toEqual([401, 401, 401, 401, 401, 401]);
  for (const { status } of await before) expect([200, 401]).toContain(status);
  expect([await isActive(other, session), errorIn(await refresh(other, session))]).toEqual([
    false,
    '400 invalid_grant',
  ]);
});

test('a session revoked at one process during refreshes at the other has ended', async () => {
  const session = await connect(one);
  const [answers] = await Promise.all([
    both(6, (world) => refresh(world, session)),
    postOauth(other.service, 'revoke', { token: session.refreshToken }),
  ]);
  for (const { json } of answers.filter(({ status }) => status === 200))
    expect(await isActive(one, { accessToken: json.access_token as string })).toBe(false);
  expect(errorIn(await refresh(one, session))).toBe('400 invalid_grant');
});

test('an agent suspended at one process gets no tokens at the other', async () => {
  const session = await connect(one);
  const code = await approve(one, session.agentId);
  await one.service.admin('POST', `/api/agents/${session.agentId}/suspend`);
  expect([
    errorIn(await refresh(other, session)),
    errorIn(await exchange(other, code)),
    await isActive(other, session),
    (await callTool(other, session)).status,
  ]).toEqual(['400 invalid_grant', '400 invalid_grant', false, 403]);
});
