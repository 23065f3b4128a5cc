import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type BothDoors,
  DOORS,
  type Door,
  type Said,
  type TestAgent,
  doorOf,
  openBothDoors,
} from './both-doors.ts';

// What one door counts or is refused, the other has counted and is refused too (specification, "Pipeline order").

let both: BothDoors;
beforeAll(async () => {
  both = await openBothDoors();
});
afterAll(() => both.stop());

const times = <T>(count: number, what: T): readonly T[] => Array.from({ length: count }, () => what);

async function doorsOf(agent: TestAgent): Promise<readonly Door[]> {
  return Promise.all(DOORS.map((name) => doorOf(both, agent, name)));
}
/** Asks in turn at every door. */
async function inTurn(doors: readonly Door[], count: number, service: string): Promise<Said[]> {
  const said: Said[] = [];
  for (let n = 0; n < count; n++) said.push(...(await Promise.all(doors.map((door) => door.ask(service)))));
  return said;
}

const codes = (said: readonly Said[]): readonly string[] => said.map(({ code }) => code);

test('60 requests in all, and then one lockout for all', async () => {
  const doors = await doorsOf(await both.agent('github'));
  expect(new Set(codes(await inTurn(doors, 20, 'github')))).toEqual(new Set(['ticket']));
  both.wait(20_000);
  const denied = { code: 'RATE_LIMITED', retryAfter: 40 };
  expect(await doors[1]?.ask('github')).toEqual(denied);
  expect(await inTurn(doors, 1, 'github')).toEqual([denied, denied, denied]);
  for (const door of doors) expect(await door.list()).toEqual(denied);
  both.wait(39_999);
  expect(await inTurn(doors, 1, 'github')).toEqual(times(3, { ...denied, retryAfter: 1 }));
  both.wait(1);
  expect(codes(await inTurn(doors, 1, 'github'))).toEqual(times(3, 'ticket'));
});

test('10 misses in all', async () => {
  const doors = await doorsOf(await both.agent('github'));
  expect(codes(await inTurn(doors, 3, 'nothing'))).toEqual(times(9, 'NO_GRANT'));
  expect(await doors[2]?.ask('nothing')).toEqual({ code: 'NO_GRANT' });
  expect(await inTurn(doors, 1, 'nothing')).toEqual(times(3, { code: 'RATE_LIMITED', retryAfter: 60 }));
  expect(codes(await inTurn(doors, 1, 'github'))).toEqual(times(3, 'ticket'));
});

test.each([
  ['a rate of three', { type: 'rate_limit', limit: 3, windowSeconds: 60 }],
  ['three uses for ever', { type: 'max_usage', limit: 3 }],
])('%s in all', async (_what, rule) => {
  const agent = await both.agent('github');
  await both.policyOn('agent', agent.id, rule);
  const doors = await doorsOf(agent);
  expect(codes(await inTurn(doors, 1, 'github'))).toEqual(times(3, 'ticket'));
  expect(codes(await inTurn(doors, 1, 'github'))).toEqual(times(3, 'POLICY_DENIED'));
});

test('one last use goes to one of them, however many ask at once', async () => {
  const agent = await both.agent('github');
  await both.policyOn('agent', agent.id, { type: 'max_usage', limit: 1 });
  const doors = await doorsOf(agent);
  const asked = Array.from({ length: 5 }, () => doors).flat();
  const said = codes(await Promise.all(asked.map((door) => door.ask('github'))));
  expect(said.toSorted()).toEqual([...times(14, 'POLICY_DENIED'), 'ticket']);
});

test('what is taken away is gone at every door with the next request', async () => {
  const agent = await both.agent('github', 'gitlab');
  const doors = await doorsOf(agent);
  await both.admin('DELETE', `/api/agents/${agent.id}/grants/github`);
  expect(codes(await inTurn(doors, 1, 'github'))).toEqual(times(3, 'NO_GRANT'));
  await both.admin('POST', `/api/agents/${agent.id}/suspend`);
  expect(codes(await inTurn(doors, 1, 'gitlab'))).toEqual(times(3, 'AGENT_INACTIVE'));
  await both.admin('POST', `/api/agents/${agent.id}/resume`);
  await both.admin('PATCH', `/api/agents/${agent.id}`, { mcpEnabled: false });
  expect(codes(await inTurn(doors, 1, 'gitlab'))).toEqual(['ticket', 'MCP_DISABLED', 'MCP_DISABLED']);
  await both.admin('PATCH', `/api/agents/${agent.id}`, { mcpEnabled: true });
  expect(codes(await inTurn(doors, 1, 'gitlab'))).toEqual(times(3, 'ticket'));
});

test('a webhook that is away: REST says so, MCP gives the address all the same', async () => {
  const doors = await doorsOf(await both.agent('github'));
  await both.webhook.shut();
  await both.service.admin('GET', '/api/webhook');
  const said = await inTurn(doors, 1, 'github');
  expect(codes(said)).toEqual(['WEBHOOK_UNAVAILABLE', 'ticket', 'ticket']);
  await both.webhook.open();
});
