import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PROXY_PATHS } from '../src/core/proxy.ts';
import { type Account, CANARY, type TwoAccounts, neverExisted, twoAccounts } from './isolation/accounts.ts';
import { type Operation, operationsIn, requestOf } from './isolation/document.ts';
import { type Heard, type Questions, interviewer, outside } from './isolation/interview.ts';
import { PROBES, type Probe } from './isolation/probes.ts';
import { type HttpProxy, httpProxyOn } from './support/http-proxy-steps.ts';
import { type Answer, BASE_URL, type Call, clientOf } from './support/management-service.ts';
import { WIDE_LIMITS } from './support/oauth-client.ts';
import { type TestProxy, proxyOn } from './support/proxy-steps.ts';
import { type TestAgent, stepsOn } from './support/service-steps.ts';

/*
 * Two accounts on one service. Every operation of the OpenAPI document is asked by a stranger about things of another
 * account: the answer is byte for byte that about things that never existed, nothing of the other account changes, and
 * nothing that the stranger reads shows anything of it.
 */

let accounts: TwoAccounts;
let operations: ReadonlyMap<string, Operation>;

interface Case {
  readonly id: string;
  readonly probe: Probe;
  readonly title: string;
}

const probesOf = (id: string): readonly Probe[] => [PROBES[id] ?? []].flat();
const CASES: readonly Case[] = Object.keys(PROBES).flatMap((id) =>
  probesOf(id).map((probe, way) => ({ id, probe, title: way === 0 ? id : `${id}, way ${way + 1}` })),
);

beforeAll(async () => {
  accounts = await twoAccounts({
    ...WIDE_LIMITS,
    SV_LIMIT_ACCOUNT_EXPORT: '10000',
    SV_LIMIT_MANAGEMENT_WRITE: '10000',
  });
  operations = new Map((await operationsIn(accounts.service.anyone)).map((each) => [each.id, each]));
});
afterAll(() => accounts.stop());

/** What an account has some of. */
const KINDS = [
  'agent',
  'token',
  'session',
  'oauthSession',
  'adminKey',
  'folder',
  'policy',
  'proxy',
  'provider',
  'approval',
  'channel',
  'member',
] as const;

/** Reads of an account that change nothing, an export's row in the log included. */
const isRead = ({ id, method, places }: Operation): boolean =>
  method === 'GET' &&
  id !== 'exportAccount' &&
  id !== 'getOpenApi' &&
  !places.some((place) => place.startsWith('path.'));

/** All that an account can read of itself, its log too. */
async function dump(call: Call): Promise<readonly (readonly [string, unknown])[]> {
  const read = async (path: string) => [path, (await call('GET', path)).json] as const;
  const lists = [...operations.values()].filter((each) => !each.isPublic && isRead(each));
  const whole = lists.map(async (operation) => {
    const limit = operation.places.includes('query.limit') ? { 'query.limit': 100 } : {};
    const list = await read(requestOf(operation, limit).path);
    // An event stream is no JSON.
    const { items = [] } = (list[1] ?? {}) as { items?: { id?: string; serviceName?: string }[] };
    const below = [...operations.values()].filter(
      ({ method, path }) => method === 'GET' && path.startsWith(`${operation.path}/{`),
    );
    const details: (readonly [string, unknown])[] = [];
    for (const { id, serviceName = '' } of items)
      for (const { path } of below)
        details.push(await read(path.replace(/\{\w+\}/, encodeURIComponent(id ?? serviceName))));
    return [list, ...details];
  });
  return (await Promise.all(whole)).flat();
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
const isBeginning = (text: string): boolean => /^\w+_[\w-]{4}…$/.test(text);
/** Addresses of the service, which all proxies of a kind share. */
const SHARED = Object.values(PROXY_PATHS).map((path) => BASE_URL + path);
const isTelling = (text: string): boolean =>
  !SHARED.includes(text) &&
  (text.includes(CANARY) || isBeginning(text) || /^([a-z]{3}_[\w-]{22}|https?:.*|[0-9a-f]{64})$/.test(text));

/** Looks for the other account in what the stranger was told; what the stranger said itself may be echoed. */
async function expectNothingOf(marks: readonly string[], { said, answer }: Heard): Promise<void> {
  const echoes = Object.values(said).map(String);
  const heard = answer.text + JSON.stringify([...answer.headers]);
  const found = marks.filter((mark) => heard.includes(mark) && !echoes.includes(mark));
  // Only four characters of a key are shown: of thousands of pairs two are alike now and then.
  const own = found.some(isBeginning)
    ? (await accounts.stranger.call('GET', '/api/account/export')).text
    : '';
  expect(found.filter((mark) => !isBeginning(mark) || !own.includes(`"${mark}"`))).toEqual([]);
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

describe('about things of another account', () => {
  /** By case and place; their things are made before anything is asked, so that nothing of theirs may change. */
  const questions = new Map<string, Questions>();
  let before: Awaited<ReturnType<typeof dump>>;
  let marks: readonly string[];
  let exported: string;
  let theirToken: string;
  const asked = ({ id, probe }: Case) => interviewer(accounts, operations.get(id)!, probe);
  /** Whatever changes in an account is an event of its log. */
  const newest = async (): Promise<string> => (await accounts.owner.call('GET', '/api/audit?limit=1')).text;

  beforeAll(async () => {
    const { owner, stranger } = accounts;
    for (const account of [owner, stranger])
      for (let times = 0; times < 2; times++) for (const kind of KINDS) await account.make(kind);
    for (const each of CASES)
      for (const place of Object.keys(each.probe.names ?? {}))
        questions.set(`${each.title} ${place}`, await asked(each).about(place));
    theirToken = await owner.make('token');
    await owner.call('POST', `/api/tokens/${theirToken}/store-ticket`);
    await stepsOn(accounts.service.running.url, owner.call).agent('shared', 'theirs');
    exported = (await owner.call('GET', '/api/account/export')).text;
    // The copy of the log reaches the webhook by itself, and the state of the webhook says how far.
    await vi.waitUntil(
      async () => {
        const { newest, acknowledged } = (await owner.call('GET', '/api/webhook')).json.log;
        return newest === acknowledged;
      },
      { timeout: 60_000 },
    );
    // So is each message to a channel tried once, and its channel says with what result.
    await vi.waitUntil(
      async () =>
        (await accounts.service.place.state.value('SELECT count(*) FROM notifications WHERE tries = 0')) ===
        0,
      { timeout: 60_000 },
    );
    before = await dump(owner.call);
    marks = canariesIn(before);
    expect(marks.length).toBeGreaterThan(200);
  });
  // Compared once: with the events, what is no event either.
  afterAll(async () => expect(await dump(accounts.owner.call)).toEqual(before));

  describe.each(CASES)('$title', (each) => {
    const { probe, title } = each;

    test.runIf(probe.notAsked === undefined)(
      'succeeds with things of one’s own, and shows nothing of theirs',
      async () => {
        const log = await newest();
        const own = await asked(each).own();
        expect([own.answer.text, own.answer.status < 300]).toEqual([own.answer.text, true]);
        await expectNothingOf(marks, own);
        expect(await newest()).toBe(log);
      },
    );

    test.each(Object.keys(probe.names ?? {}))(
      '%s of theirs answers like one that never existed',
      async (place) => {
        const log = await newest();
        const { foreign, unknown } = questions.get(`${title} ${place}`)!;
        const answers = [await foreign(), await unknown()] as const;
        const [theirs, nobodys] = answers.map((heard) => outside(heard, place, probe.ownNamespace === true));
        expect(theirs).toEqual(nobodys);
        for (const heard of answers) await expectNothingOf(marks, heard);
        expect(await newest()).toBe(log);
      },
    );
  });

  test("an agent's requests: names of theirs answer like names that never existed", async () => {
    const { stranger, service } = accounts;
    const own = await stepsOn(service.running.url, stranger.call).agent('shared');
    const unknown = await own.get('unheard-of');
    for (const name of ['theirs', theirToken]) {
      const said = { 'query.service': name };
      expect(outside({ said, answer: await own.get(name) }, '', false)).toEqual(
        outside({ said, answer: unknown }, '', false),
      );
    }
    const list = await own.list();
    expect(list.json.grants).toMatchObject([{ serviceName: 'shared' }]);
    await expectNothingOf(marks, { said: {}, answer: list });
  });

  test('a cursor of their log, or of the history of their token, leads on in one’s own', async () => {
    const { owner, stranger } = accounts;
    const own = await stranger.make('token');
    await stranger.call('POST', `/api/tokens/${own}/store-ticket`);
    for (const [theirs, ours] of [
      ['/api/audit', '/api/audit'],
      [`/api/tokens/${theirToken}/history`, `/api/tokens/${own}/history`],
    ] as const) {
      const { nextCursor } = (await owner.call('GET', `${theirs}?limit=1`)).json;
      expect(nextCursor).toEqual(expect.any(String));
      const said = { 'query.cursor': nextCursor };
      const answer = await stranger.call('GET', `${ours}?limit=100&cursor=${encodeURIComponent(nextCursor)}`);
      expect(answer.status).toBe(200);
      await expectNothingOf(marks, { said, answer });
    }
  });

  test('an export, which shows nothing of theirs, has all of one’s own', () => {
    const canaries = marks.filter((text) => text.startsWith(CANARY));
    expect(canaries.filter((mark) => !exported.includes(mark))).toEqual([]);
  });
});

describe('what agents and proxies use', () => {
  interface Used {
    readonly agent: TestAgent;
    readonly http: HttpProxy;
    readonly mcp: TestProxy;
    readonly account: Account;
  }
  let [theirs, own]: Used[] = [];

  /** An agent with a proxy of each kind, of a credential that both accounts name alike. */
  async function usedIn(account: Account, name: string): Promise<Used> {
    const { running } = accounts.service;
    const agent = await stepsOn(running.url, account.call).agent('shared');
    const settings = {
      agentId: agent.id,
      serviceName: 'shared',
      upstreamUrl: `https://${name}.example.com/v1`,
    };
    const [http, mcp] = [
      await httpProxyOn({ running, admin: account.call }, settings),
      await proxyOn({ running, admin: account.call }, settings),
    ];
    return { agent, http, mcp, account };
  }

  beforeAll(async () => {
    theirs = await usedIn(accounts.owner, 'theirs');
    own = await usedIn(accounts.stranger, 'own');
  });

  test('GET /api/agents/proxies lists the proxies of one’s own agent, and nothing of theirs', async () => {
    const { agent, http, mcp } = own!;
    const call = clientOf(accounts.service.running.url, { authorization: `Bearer ${agent.apiKey}` });
    const { json, text } = await call('GET', '/api/agents/proxies');
    const keys = json.items.map(({ key }: { key: string }) => key);
    expect(keys.toSorted()).toEqual([http.key, mcp.key].toSorted());
    for (const mark of [theirs!.http.key, theirs!.mcp.key, theirs!.mcp.name, 'theirs.example.com'])
      expect(text).not.toContain(mark);
  });

  test('an agent reads no approval of theirs, and its request for a grant asks its own account', async () => {
    const call = clientOf(accounts.service.running.url, { authorization: `Bearer ${own!.agent.apiKey}` });
    const [foreign, mine] = [await accounts.owner.make('approval'), await accounts.stranger.make('approval')];
    const answers = [foreign, mine, neverExisted(foreign)].map((id) =>
      call('GET', `/api/agents/approvals/${id}`),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 404, 404]);
    const asked = await call('POST', '/api/agents/access-requests', { body: { service: 'asked-here' } });
    const { id } = asked.json.approval;
    expect((await accounts.stranger.call('GET', `/api/approvals/${id}`)).json.serviceName).toBe('asked-here');
    expect((await accounts.owner.call('GET', `/api/approvals/${id}`)).status).toBe(404);
  });

  test('a key leads to the webhook of its own account and to its own proxy there, by HTTP and by MCP', async () => {
    for (const [{ account, http, mcp }, other] of [
      [own!, theirs!],
      [theirs!, own!],
    ] as const) {
      const reached: unknown[] = [];
      account.webhook.onProxy = ({ headers, ticket }, res) => {
        reached.push([ticket['prx'], headers['sv-target']]);
        res.writeHead(200, { 'content-type': 'application/json', 'sv-proxy-origin': 'upstream' }).end('{}');
      };
      other.account.webhook.onProxy = (_, res) => {
        reached.push('the webhook of the other account');
        res.destroy();
      };
      expect((await http.ask('/x')).status).toBe(200);
      expect((await mcp.send('ping')).status).toBe(200);
      expect(reached).toEqual([
        [http.id, '/x'],
        [mcp.id, undefined],
      ]);
    }
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
    const { counters } = (await owner.call('GET', `/api/limits?callerId=${own.id}`)).json;
    // Behind those of the owner's own account.
    const [, , , ...ofCaller] = counters as { used: number }[];
    expect(ofCaller.map(({ used }) => used)).toEqual([0, 0, 0, 0, 0]);
  });
});
