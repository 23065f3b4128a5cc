import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type AgentChannels,
  CHANNELS,
  type Channel,
  type ChannelAnswer,
  type TestAgent,
  channelOf,
  startAgentChannels,
} from '../support/agent-channels.ts';
import { clientOf } from '../support/management-service.ts';
import { pathFor } from '../support/pair-agents.ts';
import { type RestRefusal, expectRefusal } from '../support/refusals.ts';

// The channels of an agent share its counters and denials.

let both: AgentChannels;
beforeAll(async () => {
  both = await startAgentChannels();
});
afterAll(() => both.stop());

const times = <T>(count: number, what: T): readonly T[] => Array.from({ length: count }, () => what);

async function channelsOf(agent: TestAgent): Promise<readonly Channel[]> {
  return Promise.all(CHANNELS.map((name) => channelOf(both, agent, name)));
}
/** Asks on every channel, several times. */
async function inTurn(
  channels: readonly Channel[],
  count: number,
  service: string,
): Promise<ChannelAnswer[]> {
  const said: ChannelAnswer[] = [];
  for (let n = 0; n < count; n++)
    said.push(...(await Promise.all(channels.map((channel) => channel.ask(service)))));
  return said;
}

const codes = (said: readonly ChannelAnswer[]): readonly string[] => said.map(({ code }) => code);

// spec: Clients wait the indicated number of seconds.
// spec: agent_credentials | 60 per minute per agent | GET /api/agents/credentials and MCP tools/call (shared counter and shared lockout).
// spec: Penalty box. A locked-out agent gets 429 RATE_LIMITED at once for every service, on both REST and MCP.
// spec: The REST and MCP endpoints share the same floor counter and penalty box.
test('REST and MCP share the 60 requests of an agent, and its lockout', async () => {
  const channels = await channelsOf(await both.agent('github'));
  expect(new Set(codes(await inTurn(channels, 20, 'github')))).toEqual(new Set(['ticket']));
  both.wait(20_000);
  const denied = { code: 'RATE_LIMITED', retryAfter: 40 };
  expect(await channels[1]?.ask('github')).toEqual(denied);
  expect(await inTurn(channels, 1, 'github')).toEqual([denied, denied, denied]);
  for (const channel of channels) expect(await channel.list()).toEqual(denied);
  both.wait(39_999);
  expect(await inTurn(channels, 1, 'github')).toEqual(times(3, { ...denied, retryAfter: 1 }));
  both.wait(1);
  expect(codes(await inTurn(channels, 1, 'github'))).toEqual(times(3, 'ticket'));
});

// spec: agent_no_grant | 10 per minute per agent | NO_GRANT and GRANT_EXPIRED misses. Never a penalty-box strike. Past the limit the answer is 429 RATE_LIMITED, and other services' fetches are unaffected.
// spec: RATE_LIMITED | Over the no-grant miss limit. retryAfter is present.
test('REST and MCP share the 10 missing grants of an agent, and its lockout', async () => {
  const channels = await channelsOf(await both.agent('github'));
  expect(codes(await inTurn(channels, 3, 'nothing'))).toEqual(times(9, 'NO_GRANT'));
  expect(await channels[2]?.ask('nothing')).toEqual({ code: 'NO_GRANT' });
  expect(await inTurn(channels, 1, 'nothing')).toEqual(times(3, { code: 'RATE_LIMITED', retryAfter: 60 }));
  expect(codes(await inTurn(channels, 1, 'github'))).toEqual(times(3, 'ticket'));
});

test.each([
  ['rate_limit', { type: 'rate_limit', limit: 3, windowSeconds: 60 }],
  ['max_usage', { type: 'max_usage', limit: 3 }],
])('REST and MCP share the three requests of a %s rule', async (_what, rule) => {
  const agent = await both.agent('github');
  await both.policyOn('agent', agent.id, rule);
  const channels = await channelsOf(agent);
  expect(codes(await inTurn(channels, 1, 'github'))).toEqual(times(3, 'ticket'));
  expect(codes(await inTurn(channels, 1, 'github'))).toEqual(times(3, 'POLICY_DENIED'));
});

test('one of 15 concurrent requests over REST and MCP gets the last use of a max_usage rule', async () => {
  const agent = await both.agent('github');
  await both.policyOn('agent', agent.id, { type: 'max_usage', limit: 1 });
  const channels = await channelsOf(agent);
  const asked = Array.from({ length: 5 }, () => channels).flat();
  const said = codes(await Promise.all(asked.map((channel) => channel.ask('github'))));
  expect(said.toSorted()).toEqual([...times(14, 'POLICY_DENIED'), 'ticket']);
});

// spec: Agent | active | suspend (dashboard or CLI suspend) | none stated | suspended | All requests with its key get 403 AGENT_INACTIVE. Both REST and MCP are blocked.
// spec: Agent | suspended | resume (CLI resume) | none stated | active | none stated
// spec: Grant | active | revoke (dashboard, CLI gr rm) | none | removed | The agent's next request gets an error (NO_GRANT).
test('a revoked grant, a suspended agent and MCP switched off hold from the next request on each channel', async () => {
  const agent = await both.agent('github', 'gitlab');
  const channels = await channelsOf(agent);
  await both.admin('DELETE', `/api/agents/${agent.id}/grants/github`);
  expect(codes(await inTurn(channels, 1, 'github'))).toEqual(times(3, 'NO_GRANT'));
  await both.admin('POST', `/api/agents/${agent.id}/suspend`);
  expect(codes(await inTurn(channels, 1, 'gitlab'))).toEqual(times(3, 'AGENT_INACTIVE'));
  await both.admin('POST', `/api/agents/${agent.id}/resume`);
  await both.admin('PATCH', `/api/agents/${agent.id}`, { mcpEnabled: false });
  expect(codes(await inTurn(channels, 1, 'gitlab'))).toEqual(['ticket', 'MCP_DISABLED', 'MCP_DISABLED']);
  await both.admin('PATCH', `/api/agents/${agent.id}`, { mcpEnabled: true });
  expect(codes(await inTurn(channels, 1, 'gitlab'))).toEqual(times(3, 'ticket'));
});

test('a renewed grant is decided by its new end on each channel, also where the former one has passed', async () => {
  const agent = await both.agent();
  const grants = `/api/agents/${agent.id}/grants`;
  await both.admin('POST', grants, { allowMissing: true, serviceName: 'hourly', expiresInSeconds: 3_600 });
  both.wait(3_599_000);
  await both.admin('POST', `${grants}/hourly/renew`, { expiresInSeconds: 3_600 });
  both.wait(3_599_000);
  const channels = await channelsOf(agent);
  expect(codes(await inTurn(channels, 1, 'hourly'))).toEqual(times(3, 'ticket'));
  both.wait(1_000);
  await both.admin('POST', `${grants}/hourly/renew`, { grantExpiresAt: null });
  expect(codes(await inTurn(channels, 1, 'hourly'))).toEqual(times(3, 'ticket'));
});

// spec: Either an agent key (Authorization: Bearer svagent_<key>) or an OAuth 2.1 session token (svsess_...). Both resolve to the same agent, grants and policies.
// spec: 403 | INVALID_KEY | Key malformed or revoked.
// spec: 403 | AGENT_INACTIVE | Agent suspended or deleted.
// spec: 403 | POLICY_DENIED | An ABAC rule other than rate_limit blocked the request.
// spec: 403 | GRANT_EXPIRED | Grant existed but expired (it is deleted on this request).
// spec: GRANT_EXPIRED | Grant lapsed (deleted on this call).
// spec: 404 | NO_GRANT | No active grant for the service.
// spec: 429 | RATE_LIMITED | Penalty box, floor limit, account aggregate, or over the no-grant miss limit.
// spec: No-grant miss limit: {error, code: RATE_LIMITED, retryAfter}.
// spec: 423 | VAULT_LOCKED | The owner has locked the vault.
// spec: VAULT_LOCKED | Vault locked.
// spec: Agent credential requests answer 423 VAULT_LOCKED.
// spec: 502 | WEBHOOK_NOT_CONFIGURED | No webhook is bound to the vault.
// spec: WEBHOOK_NOT_CONFIGURED | No webhook bound.
test('a request that meets several conditions gets the first denial of the specification on each channel', async () => {
  const agent = await both.agent('github');
  const path = `/api/agents/${agent.id}`;
  // One for each channel, since the request that meets an expired grant deletes it.
  for (const name of CHANNELS)
    await both.admin('POST', `${path}/grants`, {
      allowMissing: true,
      serviceName: `hourly ${name}`,
      expiresInSeconds: 3_600,
    });
  both.wait(3_600_000);
  const channels = await channelsOf(agent);
  const rest = clientOf(both.service.running.url, { authorization: `Bearer ${agent.apiKey}` });
  const expectDenied = async (refusal: RestRefusal, nameFor: (channel: string) => string): Promise<void> => {
    expectRefusal(await rest('GET', pathFor(nameFor('REST'))), refusal);
    for (const n of [1, 2])
      expect(await channels[n]?.ask(nameFor(CHANNELS[n] ?? ''))).toMatchObject({
        code: refusal.split(' ')[1],
      });
  };
  await inTurn(channels, 20, 'github');
  await both.policyOn('agent', agent.id, { type: 'manual_approval' });
  await both.admin('DELETE', `${path}/grants/github`);
  await both.admin('DELETE', '/api/webhook');
  await both.admin('POST', `${path}/suspend`);
  await both.admin('POST', '/api/vault/lock');

  await expectDenied('403 AGENT_INACTIVE', () => 'a/b');
  await both.admin('POST', '/api/vault/unlock');
  await both.admin('POST', `${path}/resume`);
  await both.admin('POST', '/api/vault/lock');
  await expectDenied('429 RATE_LIMITED', () => 'a/b');
  both.wait(60_000);
  await expectDenied('400 INVALID_SERVICE', () => 'a/b');
  await expectDenied('423 VAULT_LOCKED', () => 'github');
  await both.admin('POST', '/api/vault/unlock');
  await expectDenied('403 GRANT_EXPIRED', (channel) => `hourly ${channel}`);
  await expectDenied('404 NO_GRANT', (channel) => `hourly ${channel}`);
  await inTurn(channels, 2, 'github');
  await expectDenied('429 RATE_LIMITED', () => 'github');
  await both.admin('POST', `${path}/grants`, { allowMissing: true, serviceName: 'github' });
  await expectDenied('403 POLICY_DENIED', () => 'github');
  const policies = await both.admin('GET', `/api/policies?targetType=agent&targetId=${agent.id}`);
  await both.admin('DELETE', `/api/policies/${policies.items[0].id}`);
  await expectDenied('502 WEBHOOK_NOT_CONFIGURED', () => 'github');
  await both.bind();
  expect(codes(await inTurn(channels, 1, 'github'))).toEqual(times(3, 'ticket'));

  await both.admin('POST', `${path}/rotate-key`);
  expectRefusal(await rest('GET', pathFor('github')), '403 INVALID_KEY');
});

// spec: When the webhook is offline, the redirect fetch fails at the webhook. The webhook-mode description also states that agent
test('with the webhook offline REST denies with WEBHOOK_UNAVAILABLE, and MCP returns the credential address', async () => {
  const channels = await channelsOf(await both.agent('github'));
  await both.webhook.shut();
  await both.service.admin('GET', '/api/webhook');
  const said = await inTurn(channels, 1, 'github');
  expect(codes(said)).toEqual(['WEBHOOK_UNAVAILABLE', 'ticket', 'ticket']);
  await both.webhook.open();
});
