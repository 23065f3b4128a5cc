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
  const again = await svault('proxies', 'revoke', 'github');
  expect([again.code, again.err]).toEqual([0, 'the key of github was revoked already\n']);
  const second = await created('github');
  expect(JSON.parse((await svault('proxies', 'show', 'github', '--json')).out)).toMatchObject({ id: second });
  const { out } = await svault('proxies', 'list', '--format', 'name');
  expect(out.trim().split('\n').toSorted()).toEqual(['github', first]);
  expect((await svault('proxies', 'revoke', 'github', '--yes')).code).toBe(0);
  const both = await svault('proxies', 'show', 'github');
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('2 proxies are called github')]);
});

test.each([
  [
    ['--upstream-url', 'no address', '--service', 'github'],
    '`--upstream-url` must be a web address such as https://example.com/mcp [INVALID_ARGUMENT',
  ],
  [['--upstream-url', 'https://mcp.example/'], '`--service` is missing: the name of the credential'],
])('what does not fit in a proxy is said by its flag: %j', async (flags, said) => {
  const { code, err } = await svault('proxies', 'create', '--name', 'wrong', '--allow-missing', ...flags);
  expect([code, err]).toEqual([1, expect.stringContaining(`error: ${said}`)]);
});

test('what can never work is made with a warning on stderr that names why', async () => {
  const add = (...args: readonly string[]) =>
    people.admin.svault(['add', ...args, '--delivery', 'proxy-only'], { input: 'a secret of 21 letters' });
  const proxyAt = async (url: string): Promise<string> =>
    (await svault('proxies', 'create', '--name', url, '--upstream-url', url, '--service', 'hosted')).err;
  const unusable =
    'warning: nothing can use unhosted: it is proxy-only and has no allowed host: svault set unhosted --allow-host HOST\n';
  expect((await add('unhosted')).err).toContain(unusable);
  expect((await add('hosted', '--allow-host', 'api.example')).err).not.toContain('warning');
  expect(await proxyAt('https://api.example/mcp')).not.toContain('warning');
  expect(await proxyAt('https://api.exmaple/mcp')).toContain(
    'warning: each call of this proxy will fail: Host `api.exmaple` is not an allowed host of `hosted`. Its owner runs `svault set hosted --allow-host api.exmaple --allow-header authorization`, which replaces the allowed hosts and asks for the secret again.\n',
  );
  const edited = (url: string) => svault('proxies', 'edit', 'https://api.example/mcp', '--upstream-url', url);
  expect(await edited('https://api.example/v2')).toMatchObject({
    code: 0,
    err: expect.not.stringContaining('warning'),
  });
  expect(await edited('https://api.exmaple/v2')).toMatchObject({
    code: 0,
    err: expect.stringContaining(
      'warning: each call of this proxy will fail: Host `api.exmaple` is not an allowed host of `hosted`.',
    ),
  });
  expect((await svault('agents', 'create', '--name', 'one', '--grants', 'hosted')).err).toContain(
    'warning: hosted is proxy-only, so the agent cannot fetch it; it is used through a proxy: svault proxies create --service hosted\n',
  );
});

test('a noun alone lists, and a misspelt word behind it is still none', async () => {
  expect(await svault('proxies')).toEqual(await svault('proxies', 'list'));
  expect((await svault('px', '--format', 'name')).out).toBe(
    (await svault('proxies', 'list', '--format', 'name')).out,
  );
  const wrong = await svault('proxies', 'shwo');
  expect(wrong).toEqual({
    code: 2,
    out: '',
    err: "error: unknown command 'shwo' (Did you mean show?)\n",
  });
  expect((await svault('proxies', '--help')).out).toContain('Without a command: list.');
});

test('the key of a proxy is no login, and a credential for proxies alone says how one is made', async () => {
  const asProxy = await people.stranger().svault(['ls'], {
    env: { SVAULT_BASE_URL: people.pair.controlPlaneUrl(), SVAULT_KEY: 'mcp_x' },
  });
  expect(asProxy).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^error: SVAULT_KEY is the key of a proxy \(mcp_…\), for clients at/),
  });
  const strict = ['--delivery', 'proxy-only', '--allow-host', 'mcp.example'];
  await people.admin.svault(['add', 'strict', ...strict], { input: 'a secret that is long enough' });
  const got = await svault('get', 'strict');
  expect(got.code).not.toBe(0);
  expect(got.err).toMatch(/through a proxy only; svault proxies create --name strict --service strict/);
  expect(got.err).not.toMatch(/sealed/);
});

test('a proxy of an HTTP API is made with its base URL, query and redirects, and changed', async () => {
  const api = ['--kind', 'http', '--upstream-url', 'https://api.example/v3', '--service', 'keyed'];
  await people.admin.svault(['add', 'keyed', '--allow-host', 'api.example', '--allow-query', 'key'], {
    input: 'a secret of 21 letters',
  });
  const made = await svault('proxies', 'create', '--name', 'api', ...api, '--query', 'key=${TOKEN}');
  expect([made.code, made.err]).toEqual([
    0,
    expect.stringMatching(/is created, with the base URL http:\S+\/api\/proxy\/http/),
  ]);
  expect(made.err).not.toContain('warning');
  const shown = await svault('proxies', 'edit', 'api', '--follow-redirects', '--query', 'token=${TOKEN}');
  expect(shown.err).toContain('--allow-query token');
  const { out } = await svault('proxies', 'show', 'api', '--json');
  expect(JSON.parse(out)).toMatchObject({
    ...{ kind: 'http', headerTemplates: {}, queryTemplates: { token: '${TOKEN}' } },
    redirects: 'follow-without-credential',
  });
  await svault('proxies', 'edit', 'api', '--no-follow-redirects', '--query', 'none');
  const plain = JSON.parse((await svault('proxies', 'show', 'api', '--json')).out) as object;
  for (const member of ['queryTemplates', 'redirects']) expect(plain).not.toHaveProperty(member);
  const wrong = await svault('proxies', 'edit', 'api', '--query', 'key');
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--query takes NAME=VALUE')]);
});
