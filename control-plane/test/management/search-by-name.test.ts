import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Call, clientOf } from '../support/management-service.ts';

// `?name=` of every list whose items have names.

let pair: TestPair;
let admin: Call;
beforeAll(async () => {
  pair = await startPair({ logLevel: 'silent' });
  admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
});
afterAll(() => pair.close());

interface NamedList {
  readonly path: string;
  readonly member: string;
  readonly body: (name: string) => object;
}

const LISTS: readonly NamedList[] = [
  { path: '/api/agents', member: 'name', body: (name) => ({ name }) },
  {
    path: '/api/tokens',
    member: 'serviceName',
    body: (serviceName) => ({ serviceName, tokenType: 'PlainText' }),
  },
  { path: '/api/folders', member: 'name', body: (name) => ({ name }) },
  {
    path: '/api/policies',
    member: 'name',
    body: (name) => ({ name, rules: [{ type: 'manual_approval' }] }),
  },
  {
    path: '/api/proxies',
    member: 'name',
    body: (name) => ({ name, upstreamUrl: 'https://mcp.example.com/', serviceName: 's', allowMissing: true }),
  },
  { path: '/api/members', member: 'email', body: (email) => ({ email, role: 'member' }) },
];

/** None is another one in another form: agents and proxies have different names. */
const NAMES = ['Ärger_1@x.example', 'ärger-1@x.example', 'Éclair%1@x.example', 'ﬁn!ΣΟΦΊΑ@x.example'];
const [UMLAUT = '', SMALL = '', PERCENT = '', LIGATURE = ''] = NAMES;

describe.each(LISTS)('GET $path', ({ path, member, body }) => {
  const found = async (query: string): Promise<string[]> => {
    const { status, json } = await admin('GET', `${path}?${query}`);
    expect(status).toBe(200);
    return json.items.map((item: Record<string, string>) => item[member]);
  };
  const named = (text: string): Promise<string[]> => found(`name=${encodeURIComponent(text)}`);

  beforeAll(async () => {
    for (const name of NAMES)
      expect(await admin('POST', path, { body: body(name) })).toMatchObject({ status: 201 });
  });

  test('finds what contains a text in any case, Unicode form and place', async () => {
    expect((await named('ÄRGER')).toSorted()).toEqual([SMALL, UMLAUT].toSorted());
    expect(await named('\u0041\u0308rger_')).toEqual([UMLAUT]);
    expect(await named('éCLAIR')).toEqual([PERCENT]);
    expect(await named('fin!')).toEqual([LIGATURE]);
    expect(await named('Ίασοφ')).toEqual([]);
    expect(await named('σοφία')).toEqual([LIGATURE]);
    expect((await named('')).length).toBeGreaterThanOrEqual(NAMES.length);
  });

  test.each(['%1', '_1', '!Σ', '%'])('takes %s as it is, and as no pattern', async (text) => {
    expect(await named(text)).toEqual(NAMES.filter((name) => name.includes(text)));
  });

  test('pages through what it finds', async () => {
    const pages: string[] = [];
    for (let cursor = ''; ;) {
      const { json } = await admin('GET', `${path}?name=x.example&limit=1${cursor}`);
      expect(json.items).toHaveLength(1);
      pages.push(json.items[0][member]);
      if (json.nextCursor === undefined) break;
      cursor = `&cursor=${json.nextCursor}`;
    }
    expect(pages).toEqual(await named('x.example'));
    expect(pages.toSorted()).toEqual(NAMES.toSorted());
  });

  test('shows nothing of what the search is made by', async () => {
    expect((await admin('GET', path)).text).not.toMatch(/name_?(key|hash)/i);
  });

  test.each([
    ['two lines', 'a\nb'],
    ['NUL', '\0'],
    ['a text longer than any name', 'a'.repeat(255)],
  ])('rejects %s with the name of the parameter', async (_what, text) => {
    const { status, json } = await admin('GET', `${path}?name=${encodeURIComponent(text)}`);
    expect({ status, path: json.issues[0].path }).toEqual({ status: 422, path: 'name' });
  });
});

test('an agent is found by its new name, not by its former one, and with a status', async () => {
  const { json } = await admin('POST', '/api/agents', { body: { name: 'before' } });
  const { id } = json.agent;
  await admin('PATCH', `/api/agents/${id}`, { body: { name: 'Afterwards' } });
  const idsOf = async (query: string): Promise<string[]> =>
    (await admin('GET', `/api/agents?${query}`)).json.items.map((agent: { id: string }) => agent.id);
  expect(await idsOf('name=before')).toEqual([]);
  expect(await idsOf('name=AFTER')).toEqual([id]);
  expect(await idsOf('name=after&status=suspended')).toEqual([]);
  await admin('DELETE', `/api/agents/${id}`);
  expect(await idsOf('name=after')).toEqual([]);
  expect(await idsOf('name=after&status=deleted')).toEqual([id]);
});

test.each([
  ['/api/folders', { name: 'old', serviceNames: [] }],
  ['/api/policies', { name: 'old', rules: [{ type: 'manual_approval' }] }],
])('%s finds what was renamed by its new name', async (path, body) => {
  const { json } = await admin('POST', path, { body });
  await admin('PATCH', `${path}/${json.id}`, { body: { name: 'NEW' } });
  expect((await admin('GET', `${path}?name=old`)).json.items).toEqual([]);
  expect((await admin('GET', `${path}?name=new`)).json.items).toMatchObject([{ id: json.id }]);
});
