import { expect } from 'vitest';
import type { PairAgent } from '../support/pair-agents.ts';
import { expectRefusal } from './answers.ts';
import { type Fixture, test } from './fixture.ts';
import { spec } from '@svault/test-kit/spec';
import { expectWindowAt, perDay, perHour } from './windows.ts';

const FLOOR = 60;
const MINUTE_MS = 60_000;

/** The ceiling is reached; it is no strike, and it ends with its window. */
async function expectFull(fixture: Fixture, agent: PairAgent): Promise<void> {
  const answer = await agent.list();
  expectRefusal(answer, '429 RATE_LIMITED');
  expect(answer.json.retryAfter).toBe(60);
  expect((await fixture.admin('GET', '/api/limits/lockouts')).json.items).toEqual([]);
  fixture.wait(MINUTE_MS - 1);
  expectRefusal(await agent.list(), '429 RATE_LIMITED');
  fixture.wait(1);
  expect((await agent.list()).status).toBe(200);
}

/** The first sample step of the first-run guide that the service's own document names. */
async function someStep({ anyone }: Fixture): Promise<string> {
  const { json } = await anyone('GET', '/api/openapi.json');
  const [{ schema }] = json.paths['/api/setup/steps/{step}'].post.parameters as [
    { schema: { enum: string[] } },
  ];
  return schema.enum[0]!;
}

test(
  'the ceiling of an account is 1.5 times the floors of its active agents, as they are at the moment',
  spec('user_aggregate | clamp(ceil(1.5 x (60 x active_agents', 'per minute, across all agents'),
  async ({ fixture }) => {
    const [last, ...crowd] = await fixture.agents(11);
    await fixture.spend(crowd, FLOOR);
    // Seven are left: ceil(1.5 x 60 x 7) = 630.
    await fixture.deleteAgents(crowd.slice(6));
    await fixture.spend([last!], 30);
    expectRefusal(await last!.list(), '429 RATE_LIMITED');
    // One more raises it to 720 at once, a suspended one lowers it again.
    const one = await fixture.agent();
    expect((await last!.list()).status).toBe(200);
    await fixture.admin('POST', `/api/agents/${one.id}/suspend`);
    await expectFull(fixture, last!);
  },
);

test(
  'the ceiling of an account counts the floors of its proxies that are not revoked',
  spec(
    'user_aggregate | clamp(ceil(1.5 x (60 x active_agents + 300 x proxies)), 600, 3000) per minute, across all agents and proxies of the account.',
  ),
  async ({ fixture }) => {
    const last = await fixture.agent();
    const proxies = [await fixture.proxy(), await fixture.proxy()];
    const spendBy = async (count: number): Promise<void> => {
      const crowd = await fixture.agents(count);
      await fixture.spend(crowd, FLOOR);
      await fixture.deleteAgents(crowd);
    };
    await spendBy(10);
    await spendBy(6);
    // One agent and two proxies are left: ceil(1.5 x (60 + 2 x 300)) = 990.
    await fixture.spend([last], 28);
    for (const { ask } of proxies) expect((await ask()).status).toBe(502);
    expect((await proxies[0]?.ask())?.json.error).toMatchObject({
      code: -32_029,
      data: { code: 'RATE_LIMITED', retryAfter: 60 },
    });
    expectRefusal(await last.list(), '429 RATE_LIMITED');
    const one = await fixture.proxy();
    expect((await last.list()).status).toBe(200);
    // A revoked one does not count, and 1.5 x (60 + 300) = 540 would be too few.
    for (const { id } of [one, ...proxies]) await fixture.admin('POST', `/api/proxies/${id}/revoke`);
    await expectFull(fixture, last);
  },
);

test(
  'an account may be exported 5 times an hour',
  spec('account_export | 5 per hour per account.'),
  async ({ fixture }) => {
    await expectWindowAt(fixture.pair.clock, perHour(5), {
      call: () => fixture.admin('GET', '/api/account/export'),
      passes: ({ status }) => expect(status).toBe(200),
    });
  },
);

test(
  'an account may take 30 steps of the setup guide a day',
  spec('setup_step | 30 per day per account.'),
  async ({ fixture }) => {
    const step = await someStep(fixture);
    await expectWindowAt(fixture.pair.clock, perDay(30), {
      call: () => fixture.admin('POST', `/api/setup/steps/${step}`),
      passes: ({ status }) => expect(status).toBeLessThan(300),
    });
  },
);
