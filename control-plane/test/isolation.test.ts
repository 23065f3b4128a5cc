import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CANARY, type TwoAccounts, neverExisted, twoAccounts } from './isolation/accounts.ts';
import { type Operation, operationsIn, requestOf } from './isolation/document.ts';
import { type Heard, interviewer, outside } from './isolation/interview.ts';
import { PROBES, type Probe } from './isolation/probes.ts';
import type { Answer, Call } from './management-service.ts';
import { stepsOn } from './service-steps.ts';

/*
 * Two accounts on one service. Every operation of the OpenAPI document is asked by a stranger about things of another
 * account: the answer is byte for byte that about things that never existed, nothing of the other account changes, and
 * nothing that the stranger reads shows anything of it.
 */

let accounts: TwoAccounts;
let operations: ReadonlyMap<string, Operation>;

const probesOf = (id: string): readonly Probe[] => [PROBES[id] ?? []].flat();
const PROBED = Object.keys(PROBES).flatMap((id) =>
  probesOf(id).map((probe, way) => ({ id, probe, title: way === 0 ? id : `${id}, another way` })),
);

beforeAll(async () => {
  accounts = await twoAccounts();
  operations = new Map((await operationsIn(accounts.service.anyone)).map((each) => [each.id, each]));
  const { owner, stranger } = accounts;
  for (const account of [owner, stranger])
    for (let times = 0; times < 2; times++)
      for (const kind of ['agent', 'token', 'session', 'adminKey', 'folder', 'policy', 'member'] as const)
        await account.make(kind);
  expect(canariesIn(await dump(owner.call)).length).toBeGreaterThan(40);
});
afterAll(() => accounts.stop());

/** Reads of an account that change nothing, an export's row in the log included. */
const isRead = ({ id, method, places }: Operation): boolean =>
  method === 'GET' &&
  id !== 'exportAccount' &&
  id !== 'getOpenApi' &&
  !places.some((place) => place.startsWith('path.'));

/** All that an account can read of itself, its log too. */
async function dump(call: Call): Promise<readonly [string, unknown][]> {
  const read: [string, unknown][] = [];
  for (const operation of operations.values()) {
    if (operation.isPublic || !isRead(operation)) continue;
    const limit = operation.places.includes('query.limit') ? { 'query.limit': 100 } : {};
    const { path } = requestOf(operation, limit);
    const list = (await call('GET', path)).json as { items?: { id?: string; serviceName?: string }[] };
    read.push([path, list]);
    for (const { id, serviceName = '' } of list.items ?? [])
      for (const one of operations.values()) {
        if (one.method !== 'GET' || !one.path.startsWith(`${operation.path}/{`)) continue;
        const path = one.path.replace(/\{\w+\}/, encodeURIComponent(id ?? serviceName));
        read.push([path, (await call('GET', path)).json]);
      }
  }
  return read;
}

/** Every text that is the account's alone: its canaries, its ids, its keys' beginnings, its webhook, its hashes. */
function canariesIn(value: unknown): string[] {
  const found = new Set<string>();
  const walk = (part: unknown): void => {
    if (typeof part === 'string' && isTelling(part)) found.add(part);
    else if (typeof part === 'object' && part !== null) Object.values(part).forEach(walk);
  };
  walk(value);
  return [...found];
}
const isTelling = (text: string): boolean =>
  text.includes(CANARY) || /^([a-z]{3}_[\w-]{22}|https?:.*|[0-9a-f]{64}|\w+_[\w-]{4}…)$/.test(text);

/** Looks for the other account in what the stranger was told; what the stranger said itself may be echoed. */
function expectNothingOfTheirs(theirs: unknown, { said, answer }: Heard): void {
  const echoes = Object.values(said).map(String);
  const heard = answer.text + JSON.stringify([...answer.headers]);
  const seen = canariesIn(theirs).filter((mark) => heard.includes(mark) && !echoes.includes(mark));
  expect(seen).toEqual([]);
}

test('every operation is probed, and says of everything that a request can say whether it names something', () => {
  const said = [...operations.values()].map(({ id, places }) => [id, places.toSorted()]);
  const probed = Object.keys(PROBES).map((id) => {
    const places = probesOf(id).flatMap(({ names = {}, says = {}, silent = [] }) => [
      ...Object.keys(names),
      ...Object.keys(typeof says === 'function' ? says(accounts.stranger) : says),
      ...silent,
    ]);
    return [id, [...new Set(places)].toSorted()];
  });
  expect(Object.fromEntries(probed)).toEqual(Object.fromEntries(said));
});

describe.each(PROBED)('$title', ({ id, probe }) => {
  const asked = () => interviewer(accounts, operations.get(id)!, probe);

  test.runIf(probe.notAsked === undefined)(
    'succeeds with things of one’s own, and shows nothing of theirs',
    async () => {
      const before = await dump(accounts.owner.call);
      const own = await asked().own();
      expect([own.answer.text, own.answer.status < 300]).toEqual([own.answer.text, true]);
      expectNothingOfTheirs(before, own);
      expect(await dump(accounts.owner.call)).toEqual(before);
    },
  );

  test.each(Object.keys(probe.names ?? {}))(
    '%s of theirs answers like one that never existed',
    async (place) => {
      const questions = await asked().about(place);
      const before = await dump(accounts.owner.call);
      const [foreign, unknown] = [await questions.foreign(), await questions.unknown()];
      const same = probe.ownNamespace === true;
      expect(outside(foreign, place, same)).toEqual(outside(unknown, place, same));
      if (questions.malformed !== undefined)
        expect((await questions.malformed()).answer.text).toBe(unknown.answer.text);
      for (const heard of [foreign, unknown]) expectNothingOfTheirs(before, heard);
      expect(await dump(accounts.owner.call)).toEqual(before);
    },
  );
});

describe('beside the management routes', () => {
  test("an agent's requests: names of theirs answer like names that never existed", async () => {
    const { owner, stranger, service } = accounts;
    const own = await stepsOn(service.running.url, stranger.call).agent('shared');
    const theirs = await stepsOn(service.running.url, owner.call).agent('shared', 'theirs');
    const token = await owner.make('token');
    const before = await dump(owner.call);
    const unknown = await own.get('unheard-of');
    for (const name of ['theirs', token]) {
      const said = { 'query.service': name };
      expect(outside({ said, answer: await own.get(name) }, '', false)).toEqual(
        outside({ said, answer: unknown }, '', false),
      );
    }
    expect((await own.list()).json.grants).toMatchObject([{ serviceName: 'shared' }]);
    expectNothingOfTheirs(before, { said: {}, answer: await own.list() });
    expect(await dump(owner.call)).toEqual(before);
    expect((await theirs.list()).json.grants).toHaveLength(2);
  });

  test("an account's export has all of its own and nothing of theirs", async () => {
    const { owner, stranger } = accounts;
    const marks = canariesIn(await dump(owner.call)).filter((text) => text.startsWith(CANARY));
    const answer = await stranger.call('GET', '/api/account/export');
    expectNothingOfTheirs(await dump(owner.call), { said: {}, answer });
    const whole = (await owner.call('GET', '/api/account/export')).text;
    expect(marks.filter((mark) => !whole.includes(mark))).toEqual([]);
  });
});

describe('what is counted', () => {
  const reveal = (call: Call, id: string): Promise<Answer> => call('POST', `/api/agents/${id}/reveal-key`);

  test('a request about a thing of theirs counts nothing, of theirs or of one’s own', async () => {
    const { owner, stranger } = accounts;
    const [theirs, own] = [await owner.make('agent'), await stranger.make('agent')];
    for (let times = 0; times < 25; times++) {
      const answers = [
        await reveal(stranger.call, theirs),
        await reveal(stranger.call, neverExisted(theirs)),
      ];
      const [foreign, unknown] = answers.map((answer) => outside({ said: {}, answer }, '', false));
      expect(foreign).toEqual(unknown);
      expect(answers[0]!.status).toBe(404);
    }
    for (const [call, id] of [
      [owner.call, theirs],
      [stranger.call, own],
    ] as const) {
      for (let times = 0; times < 20; times++) expect((await reveal(call, id)).status).toBe(200);
      expect((await reveal(call, id)).status).toBe(429);
    }
    expect((await reveal(stranger.call, theirs)).status).toBe(404);
  });

  test("one account's requests use up nothing of the other's", async () => {
    const { owner, stranger, service } = accounts;
    const [own, theirs] = [
      await stepsOn(service.running.url, stranger.call).agent('s'),
      await stepsOn(service.running.url, owner.call).agent('s'),
    ];
    for (let times = 0; times < 61; times++) await own.list();
    expect((await own.list()).status).toBe(429);
    expect((await theirs.list()).status).toBe(200);
    expect((await stranger.call('GET', '/api/limits/lockouts')).json.items).toMatchObject([
      { callerId: own.id },
    ]);
    expect((await owner.call('GET', '/api/limits/lockouts')).json.items).toEqual([]);
  });
});
