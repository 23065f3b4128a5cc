import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';

let service: LinkedService;
beforeEach(async () => {
  service = await startLinkedService();
});
afterEach(() => service.stop());

const ask = (query = '') => service.admin('GET', `/api/overview/agents${query}`);

test('GET /api/overview/agents lists who asked most, right after the requests, by name and outcome', async () => {
  await service.bind();
  const [one, two] = [await service.agent('github'), await service.agent('github')];
  for (let times = 0; times < 2; times++) await one.get('github');
  await two.get('unknown');
  const { status, json } = await ask();
  const names = Object.fromEntries(
    ((await service.admin('GET', '/api/agents')).json.items as { id: string; name: string }[]).map(
      ({ id, name }) => [id, name],
    ),
  );
  const expected = [
    { agentId: one.id, name: names[one.id], accesses: 2, denied: 0, rateLimited: 0, errors: 0 },
    { agentId: two.id, name: names[two.id], accesses: 0, denied: 1, rateLimited: 0, errors: 0 },
  ];
  expect([status, json]).toEqual([
    200,
    { since: '2026-11-19T13:00:00.000Z', complete: true, items: expected },
  ]);
  await service.runJob('activity counts');
  expect((await ask('?hours=1&limit=1')).json.items).toEqual(expected.slice(0, 1));
  await service.admin('DELETE', `/api/agents/${one.id}`);
  expect((await ask()).json.items).toEqual(expected);
});

test('GET /api/overview/agents takes 1 to 24 hours and 1 to 100 agents', async () => {
  for (const query of ['?hours=24&limit=100', '?hours=1', '?limit=1'])
    expect([query, (await ask(query)).status]).toEqual([query, 200]);
  for (const query of [
    '?hours=0',
    '?hours=25',
    '?hours=1.5',
    '?hours=',
    '?limit=101',
    '?limit=0',
    '?cursor=x',
  ])
    expect([query, (await ask(query)).json.code]).toEqual([query, 'INVALID_ARGUMENT']);
});
