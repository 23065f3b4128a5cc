import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
beforeAll(async () => {
  people = await pairAndPeople();
});
afterAll(() => people.close());

const svault = (...args: readonly string[]) => people.admin.svault(args);
const create = (name: string) =>
  svault(
    ...['proxies', 'create', '--name', name, '--upstream-url', 'https://mcp.example/', '--service', 'github'],
    ...['--allow-missing', '--json'],
  );
const created = async (name: string): Promise<string> => {
  const { code, out, err } = await create(name);
  expect([code, err]).toEqual([0, expect.any(String)]);
  return (JSON.parse(out) as { proxy: { id: string } }).proxy.id;
};

test('a proxy’s name means the active one, and a revoked one only where no other has it', async () => {
  const first = await created('github');
  const { code, err } = await create('GitHub');
  expect([code, err]).toEqual([
    1,
    expect.stringContaining(`There is a proxy \`github\` (${first}) already.`),
  ]);
  expect((await svault('proxies', 'revoke', 'github', '--yes')).code).toBe(0);
  expect(JSON.parse((await svault('proxies', 'show', 'github', '--json')).out)).toMatchObject({ id: first });
  const second = await created('github');
  expect(JSON.parse((await svault('proxies', 'show', 'github', '--json')).out)).toMatchObject({ id: second });
  expect((await svault('proxies', 'list', '--format', 'name')).out).toBe(`${first}\ngithub\n`);
  expect((await svault('proxies', 'revoke', 'github', '--yes')).code).toBe(0);
  const both = await svault('proxies', 'show', 'github');
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('2 proxies are called github')]);
});
