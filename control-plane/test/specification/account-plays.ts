import { expect } from 'vitest';
import type { PairAgent } from '../pair-agents.ts';
import { expectRefusal } from './answers.ts';
import type { LIMIT_ROWS } from './limit-rows.ts';
import { rateOf, type Row } from './row.ts';
import type { Play, Stage } from './stage.ts';
import { expectWindowAt } from './windows.ts';

const FLOOR = 60;
const MINUTE_MS = 60_000;

/** The ceiling is reached; it is no strike, and it ends with its window. */
async function expectFull(stage: Stage, agent: PairAgent): Promise<void> {
  const answer = await agent.list();
  expectRefusal(answer, '429 RATE_LIMITED');
  expect(answer.json.retryAfter).toBe(60);
  expect((await stage.admin('GET', '/api/limits/lockouts')).json.items).toEqual([]);
  stage.wait(MINUTE_MS - 1);
  expectRefusal(await agent.list(), '429 RATE_LIMITED');
  stage.wait(1);
  expect((await agent.list()).status).toBe(200);
}

/** The first sample step of the first-run guide that the service's own document names. */
async function someStep({ anyone }: Stage): Promise<string> {
  const { json } = await anyone('GET', '/api/openapi.json');
  const [{ schema }] = json.paths['/api/setup/steps/{step}'].post.parameters as [
    { schema: { enum: string[] } },
  ];
  return schema.enum[0]!;
}

export const ACCOUNT_PLAYS = {
  'user_aggregate: low end': async (stage) => {
    const [last, ...crowd] = await stage.agents(11);
    await stage.spend(crowd, FLOOR - 1);
    await stage.spend(crowd.slice(1), 1);
    // 599 so far. With six agents left, 1.5 x 60 x 6 = 540 would be too few.
    await stage.deleteAgents(crowd.slice(5));
    expect((await crowd[0]!.list()).status).toBe(200);
    await expectFull(stage, last!);
  },

  'user_aggregate: between': async (stage) => {
    const [last, ...crowd] = await stage.agents(11);
    await stage.spend(crowd, FLOOR);
    // Seven are left: ceil(1.5 x 60 x 7) = 630.
    await stage.deleteAgents(crowd.slice(6));
    await stage.spend([last!], 30);
    expectRefusal(await last!.list(), '429 RATE_LIMITED');
    // One more raises it to 720 at once, a suspended one lowers it again.
    const one = await stage.agent();
    expect((await last!.list()).status).toBe(200);
    await stage.admin('POST', `/api/agents/${one.id}/suspend`);
    await expectFull(stage, last!);
  },

  'user_aggregate: high end': async (stage) => {
    const [last, ...crowd] = await stage.agents(51);
    await stage.spend(crowd, FLOOR);
    await expectFull(stage, last!);
  },

  'user_aggregate: proxies': async (stage) => {
    const last = await stage.agent();
    const proxies = [await stage.proxy(), await stage.proxy()];
    const spendBy = async (count: number): Promise<void> => {
      const crowd = await stage.agents(count);
      await stage.spend(crowd, FLOOR);
      await stage.deleteAgents(crowd);
    };
    await spendBy(10);
    await spendBy(6);
    // One agent and two proxies are left: ceil(1.5 x (60 + 2 x 300)) = 990.
    await stage.spend([last], 28);
    for (const { ask } of proxies) expect((await ask()).status).toBe(502);
    expect((await proxies[0]?.ask())?.json.error).toMatchObject({
      code: -32_029,
      data: { code: 'RATE_LIMITED', retryAfter: 60 },
    });
    expectRefusal(await last.list(), '429 RATE_LIMITED');
    const one = await stage.proxy();
    expect((await last.list()).status).toBe(200);
    // A revoked one does not count, and 1.5 x (60 + 300) = 540 would be too few.
    for (const { id } of [one, ...proxies]) await stage.admin('POST', `/api/proxies/${id}/revoke`);
    await expectFull(stage, last);
  },

  account_export: async (stage, row) => {
    await expectWindowAt(stage.pair.clock, rateOf(row), {
      call: () => stage.admin('GET', '/api/account/export'),
      passes: ({ status }) => expect(status).toBe(200),
    });
  },

  setup_step: async (stage, row) => {
    const step = await someStep(stage);
    await expectWindowAt(stage.pair.clock, rateOf(row), {
      call: () => stage.admin('POST', `/api/setup/steps/${step}`),
      passes: ({ status }) => expect(status).toBeLessThan(300),
    });
  },
} as const satisfies Partial<Record<keyof typeof LIMIT_ROWS, Play<Row>>>;
