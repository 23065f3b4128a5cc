import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import { allOf, pageOf, storedVersion } from './holdings.ts';

const CLAIMS = ['storage'] as const;

/** How many pages a walk over all records shall have. */
const PAGES = 5;

/** Lists everything by small pages and by large ones, and expects each of these once in both. */
export async function expectPaged(
  tools: Tools,
  op: string,
  idOf: 'serviceName' | 'proxyId',
  own: readonly string[],
): Promise<void> {
  const whole = await allOf(tools, { op, limit: 500 });
  const limit = Math.max(1, Math.ceil(whole.items.length / PAGES) - 1);
  const cut = await allOf(tools, { op, limit });
  const wanted = [...own, ...whole.items.map((item) => item[idOf])];
  // Two pages, with one item left for the second.
  const most = await allOf(tools, { op, limit: Math.min(Math.max(whole.items.length - 1, 1), 500) });
  for (const { answer, items } of [whole, cut, most]) {
    const ids = new Set(items.map((item) => item[idOf]));
    expectThat(ids.size === items.length, answer, 'no item twice in all pages');
    for (const id of wanted) expectThat(ids.has(id), answer, `${String(id)} in one of the pages`);
  }
  const one = await pageOf(tools, { op, limit: 1 });
  expectThat(one.items.length === 1 && one.next !== undefined, one.answer, 'one item and a nextCursor');
  const other = await pageOf(tools, { op, limit: 1, cursor: one.next });
  expectThat(
    other.items.length === 1 && other.items[0]?.[idOf] !== one.items[0]?.[idOf],
    other.answer,
    'another item',
  );
}

/** Expects that limits outside 1 to `most` are refused, and these two served. */
export async function expectLimits(tools: Tools, op: string, max: number): Promise<void> {
  for (const limit of [0, -1, max + 1]) {
    const answer = await tools.storage({ op, limit });
    expectRefusal(answer, 'INVALID_REQUEST', `limit ${limit}`);
  }
  for (const limit of [1, max]) {
    const { answer, items } = await pageOf(tools, { op, limit });
    expectThat(items.length <= limit, answer, `at most ${limit} items`);
  }
}

/** Protocol section 5.3, `tokens.list`. */
export const STORAGE_LIST_CHECKS: readonly Check[] = [
  {
    id: 'storage.list',
    title: 'tokens.list returns each record as tokens.get does',
    requirements: ['STO-02'],
    claims: CLAIMS,
    run: async (tools) => {
      const settings = {
        allowedHosts: ['api.example'],
        allowedHeaders: ['x-mine'],
        delivery: 'proxy-only',
      };
      const { name } = await tools.given.text({ ...settings, expiryTime: '2199-01-02T03:04:05.000Z' });
      const { items, answer } = await allOf(tools, { op: 'tokens.list', limit: 500 });
      const listed = items.find(({ serviceName }) => serviceName === name);
      expectThat(listed !== undefined, answer, `a list in which ${name} stands`);
      const got = await tools.storage({ op: 'tokens.get', serviceName: name });
      const members = expectOk(got);
      for (const member of MEMBERS)
        expectThat(
          JSON.stringify(listed[member]) === JSON.stringify(members[member]),
          got,
          `${member} as in the list: ${JSON.stringify(listed[member])}`,
        );
    },
  },
  {
    id: 'storage.list-pages',
    title: 'pages of tokens.list have every record once',
    requirements: ['STO-02'],
    claims: CLAIMS,
    run: async (tools) => {
      const names: string[] = [];
      for (let count = 0; count < 5; count++) names.push((await tools.given.text()).name);
      await expectPaged(tools, 'tokens.list', 'serviceName', names);
    },
  },
  {
    id: 'storage.list-limit',
    title: 'tokens.list takes a limit from 1 to 500 and no other',
    requirements: ['STO-11'],
    claims: CLAIMS,
    run: (tools) => expectLimits(tools, 'tokens.list', 500),
  },
  {
    id: 'storage.list-expires-before',
    title: 'tokens.list with expiresBefore has the records that expire before that instant, and no others',
    requirements: ['STO-02', 'TRN-15'],
    claims: CLAIMS,
    run: async (tools) => {
      const expiring = async (expiryTime?: string): Promise<string> => {
        const name = tools.freshName();
        const settings = expiryTime === undefined ? {} : { expiryTime };
        await storedVersion(tools, name, { tokenType: 'PlainText', value: 'canary', ...settings });
        return name;
      };
      const before = [await expiring('2001-03-01T00:00:00Z'), await expiring('2001-02-28T23:59:59.999999Z')];
      const after = [await expiring('2001-03-01T00:00:01.000Z'), await expiring()];
      // As text, `00.500Z` stands before `00Z`.
      const expiresBefore = '2001-03-01T00:00:00.500Z';
      const there = (await allOf(tools, { op: 'tokens.list', expiresBefore })).items.length;
      const full = Math.min(Math.max(there, 2), 500);
      // A page that is exactly full, one item more than fits, and what nothing is said about.
      for (const limit of [full, full - 1, undefined]) {
        const { answer, items } = await allOf(tools, { op: 'tokens.list', expiresBefore, limit });
        const names = items.map(({ serviceName }) => serviceName);
        for (const name of before) expectThat(names.includes(name), answer, `${name}, which expires before`);
        for (const name of after) expectThat(!names.includes(name), answer, `no ${name}, which does not`);
        expectThat(names.length === new Set(names).size, answer, `no item twice, by pages of ${limit}`);
      }
      // The same the other way round, for a webhook that writes what is stored and not what was requested.
      const later = await expiring('2001-03-01T00:00:00.500Z');
      const whole = await allOf(tools, { op: 'tokens.list', expiresBefore: '2001-03-01T00:00:00Z' });
      const listed = whole.items.some(({ serviceName }) => serviceName === later);
      expectThat(!listed, whole.answer, `no ${later}, which expires half a second after`);
    },
  },
];

const MEMBERS = [
  'serviceName',
  'tokenType',
  'createdAt',
  'updatedAt',
  'expiryTime',
  'hasRefreshToken',
  'version',
  'delivery',
  'allowedHosts',
  'allowedHeaders',
  'empty',
];
