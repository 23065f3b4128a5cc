import { chmodSync } from 'node:fs';
import { newKey } from '@svault/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { someone } from './command-line.ts';
import { fakeServer } from './fake-servers.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
beforeAll(async () => {
  people = await pairAndPeople();
  await people.admin.svault(['tokens', 'create', 'github', '--empty']);
});
afterAll(() => people.close());

/** Somebody whose cache is theirs alone. */
function withCache(env: Readonly<Record<string, string>>) {
  const person = someone(env);
  chmodSync(person.dir, 0o700);
  return {
    names: (kind: string, more: Readonly<Record<string, string>> = {}) =>
      person.svault(['complete-names', kind], { env: { XDG_CACHE_HOME: person.dir, ...more } }),
    person,
  };
}
const owner = (url = people.pair.controlPlaneUrl()): Readonly<Record<string, string>> => ({
  SVAULT_BASE_URL: url,
  SVAULT_KEY: people.pair.adminKey,
});
const said = (out: string): { code: number; out: string; err: string } => ({ code: 0, out, err: '' });

test('names come from the control plane, by the login that acts', async () => {
  const agent = await people.agent('ci', 'npm');
  const { names } = withCache(owner());
  expect(await names('services')).toEqual(said('github\n'));
  expect(await names('agents')).toEqual(said('ci\n'));
  expect(await names('members')).toEqual(said('owner@example.org\n'));
  expect(await names('policies')).toEqual(said(''));
  expect(await names('approvals')).toEqual(said(''));
  const { SVAULT_BASE_URL = '' } = owner();
  const own = withCache({ SVAULT_BASE_URL, SVAULT_KEY: agent.key });
  expect(await own.names('services')).toEqual(said('npm\n'));
  expect(await own.names('agents')).toEqual(said(''));
});

test('names are kept for a moment, and for the login that they were asked with', async () => {
  const { url, asked } = await fakeServer(({ path }) => ({
    body: path.startsWith('/api/agents?') ? { items: [{ id: 'agt_1', name: 'one' }] } : {},
  }));
  const { names } = withCache(owner(url));
  expect(await names('agents')).toEqual(said('one\n'));
  expect(await names('agents')).toEqual(said('one\n'));
  expect(asked()).toHaveLength(1);
  await names('agents', { SVAULT_KEY: newKey('svadmin') });
  expect(asked()).toHaveLength(2);
});

test('a control plane that never answers costs a shell no more than a moment, and nothing is said', async () => {
  const { url } = await fakeServer(() => undefined);
  const { names, person } = withCache(owner(url));
  expect(await names('agents')).toEqual(said(''));
  // As a process it ends, though the connection is still open.
  expect(await person.spawned(['complete-names', 'agents'])).toEqual(said(''));
});

test('nobody who is signed in, a refusal, an odd kind, and a name with a line break are no errors of a shell', async () => {
  expect(await withCache({}).names('agents')).toEqual(said(''));
  const { url } = await fakeServer(() => ({ body: { items: [{ id: 'agt_1', name: 'a\nb\u001B[31m' }] } }));
  expect(await withCache(owner(url)).names('agents')).toEqual(said('a b [31m\n'));
  const { url: refusing } = await fakeServer(() => ({
    status: 401,
    body: { error: 'no', code: 'UNAUTHENTICATED' },
  }));
  expect(await withCache(owner(refusing)).names('agents')).toEqual(said(''));
  expect(await withCache(owner()).names('frogs')).toEqual(said(''));
});
