import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SECRET } from './covered-api.ts';
import { type Programs, type Ran, programs, shown } from './programs.ts';

// GitHub's command line at a forge of its own host, which it calls by https alone.

const PAGES = 3;
const ISSUES = '/api/v3/repos/acme/site/issues';
let api: Programs;
beforeAll(async () => {
  api = await programs({
    hostname: '0.0.0.0',
    isAuthorized: ({ authorization }) =>
      authorization === `token ${SECRET}` || authorization === `Bearer ${SECRET}`,
    api: async (req, res) => {
      const { pathname, searchParams } = new URL(req.url ?? '', api.origin);
      const json = { 'content-type': 'application/json; charset=utf-8' };
      if (req.method === 'GET' && pathname === ISSUES) {
        const page = Number(searchParams.get('page') ?? 1);
        const next = `<${api.origin}${ISSUES}?per_page=1&page=${page + 1}>; rel="next"`;
        const issues = JSON.stringify([{ number: page, body: '…'.repeat(10_000) }]);
        return void res.writeHead(200, page < PAGES ? { ...json, link: next } : json).end(issues);
      }
      if (req.method === 'POST' && [ISSUES, '/api/graphql'].includes(pathname))
        return void res
          .writeHead(201, json)
          .end(JSON.stringify({ data: JSON.parse(await text(req)) as unknown }));
      res.writeHead(404, json).end('{ "message": "Not Found" }');
    },
  });
});
afterAll(() => api.close());

const SETTINGS = { GH_NO_UPDATE_NOTIFIER: '1', GH_CONFIG_DIR: '.gh' };
const expectSuccess = ({ code, err }: Ran): void =>
  expect([code, err.replace(/^svault run: .*\n/, '')]).toEqual([0, '']);

test('gh api has all pages of a list, by address and in svault run as with the token', async () => {
  const { host } = new URL(api.origin);
  const atForge = { ...SETTINGS, GH_HOST: host };
  const command = ['gh', 'api', '--paginate', 'repos/acme/site/issues?per_page=1'] as const;
  const own = await api.direct(command, { env: { ...atForge, GH_ENTERPRISE_TOKEN: SECRET } });
  expectSuccess(own);
  expect(own.out.toString().match(/"number":\d/g)).toEqual(['"number":1', '"number":2', '"number":3']);

  const script = shown('http-apis.md', 'export GH_ENTERPRISE_TOKEN', {
    'mcp_…': api.key,
    'https://svault.example.org/api/proxy/http/': `${api.base}/api/v3/`,
    issues: 'issues?per_page=1',
  });
  const byBaseUrl = await api.byBaseUrl(['sh', '-ec', script], { env: SETTINGS });
  expectSuccess(byBaseUrl);
  expect(byBaseUrl.out.equals(own.out)).toBe(true);

  const flags = ['--placeholder', 'GH_ENTERPRISE_TOKEN'];
  const inRun = await api.inRun(command, { flags, env: atForge });
  expectSuccess(inRun);
  expect(inRun.out.equals(own.out)).toBe(true);
});

test.each([
  ['a new issue', ['repos/acme/site/issues', '-f', 'title=It is broken']],
  ['a question of GraphQL', ['graphql', '-f', 'query={ viewer { login } }']],
])('gh api sends %s in svault run as with the token', async (_what, args) => {
  const atForge = { ...SETTINGS, GH_HOST: new URL(api.origin).host };
  const own = await api.direct(['gh', 'api', ...args], { env: { ...atForge, GH_ENTERPRISE_TOKEN: SECRET } });
  expectSuccess(own);
  const flags = ['--placeholder', 'GH_ENTERPRISE_TOKEN'];
  const inRun = await api.inRun(['gh', 'api', ...args], { flags, env: atForge });
  expectSuccess(inRun);
  expect(inRun.out.equals(own.out)).toBe(true);
});
