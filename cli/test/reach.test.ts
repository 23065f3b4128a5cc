import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
beforeAll(async () => {
  people = await pairAndPeople();
  const secret = ['--value', '0123456789abcdef0123'];
  await people.admin.svault(['add', 'github', ...secret, '--allow-host', 'api.github.com']);
  await people.admin.svault(['tokens', 'create', 'npm', '--empty']);
  for (const [name, grants] of [
    ['ci', 'github,npm'],
    ['nightly', 'github'],
  ] as const)
    await people.admin.svault(['agents', 'create', '--name', name, '--grants', grants]);
  const upstream = ['--upstream-url', 'https://api.github.com/mcp'];
  await people.admin.svault(['proxies', 'create', '--name', 'hub', ...upstream, '--service', 'github']);
  const elsewhere = ['--upstream-url', 'https://elsewhere.example.com/mcp'];
  await people.admin.svault(['proxies', 'create', '--name', 'stray', ...elsewhere, '--service', 'github']);
  await people.admin.svault(['agents', 'suspend', 'nightly']);
});
afterAll(() => people.close());

const reach = (...flags: readonly string[]) => people.admin.svault(['reach', ...flags]);
const lines = async (...flags: readonly string[]) =>
  (await reach(...flags)).out
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));

test('svault reach --agent says what the agent can reach', async () => {
  expect(await lines('--agent', 'ci')).toEqual([
    ['WHO', 'CREDENTIAL', 'NOW', 'UNTIL', 'POLICIES'],
    ['ci', 'github', 'can be used', 'revoked'],
    ['ci', 'npm', 'can be used', 'revoked'],
  ]);
});

test('svault reach --service says who can reach the credential, proxies too, and who is denied', async () => {
  const [, ...rows] = await lines('--service', 'github');
  expect(rows.toSorted(([one = ''], [other = '']) => one.localeCompare(other))).toEqual([
    ['ci', 'github', 'can be used', 'revoked'],
    ['nightly', 'github', 'AGENT_INACTIVE', 'revoked'],
    ['proxy hub', 'github', 'can be used'],
    ['proxy stray', 'github', 'DESTINATION_NOT_ALLOWED'],
  ]);
});

test('svault reach --json has what the webhook says of the credential', async () => {
  const { out } = await reach('--agent', 'ci', '--json');
  expect(JSON.parse(out)).toMatchObject([
    { credential: { serviceName: 'github', stored: true, allowedHosts: ['api.github.com'] } },
    { credential: { serviceName: 'npm', stored: null } },
  ]);
  expect((await reach('--proxy', 'hub', '--format', 'name')).out).toBe('hub github\n');
});

test('svault reach of an unknown agent names the command that lists them', async () => {
  const { code, err } = await reach('--agent', 'nobody');
  expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining('svault agents list') as string });
});
