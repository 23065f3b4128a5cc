import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
let svault: PairAndPeople['admin']['svault'];

beforeAll(async () => {
  people = await pairAndPeople();
  ({ svault } = people.admin);
});
afterAll(() => people.close());

const SECRET = 'a secret that is long enough';
const HOST = ['--allow-host', 'api.example'];
const ISSUES = 'GET api.example/repos/acme/*/issues';
const TOOLS = 'tools search_*,create_issue /mcp repo=acme/site|acme/docs';
const RULES = ['--allow-request', ISSUES, '--allow-request', TOOLS];
const REQUESTS = [
  { methods: ['GET'], hosts: ['api.example'], paths: ['/repos/acme/*/issues'] },
  {
    tools: ['search_*', 'create_issue'],
    paths: ['/mcp'],
    arguments: { '/repo': ['acme/site', 'acme/docs'] },
  },
];

const run = (...args: readonly string[]) => svault(args, { input: SECRET });
const held = async (name: string): Promise<unknown> =>
  (JSON.parse((await svault(['show', name, '--json'])).out) as { webhook: { requests?: unknown } }).webhook
    .requests;

test('add seals the rules with the secret, and show prints each as it was written', async () => {
  expect(await run('add', 'ruled', ...HOST, ...RULES)).toMatchObject({ code: 0 });
  expect(await held('ruled')).toEqual(REQUESTS);
  const { out } = await svault(['show', 'ruled']);
  expect(out).toMatch(/^requests {2,}GET api\.example\/repos\/acme\/\*\/issues\n {3,}tools search_/m);
  expect(out).toContain(` ${TOOLS}\n`);
});

test('reach lists the rules of a credential, one after another, and in JSON as they are stored', async () => {
  await run('add', 'reached', ...HOST, ...RULES);
  const upstream = ['--upstream-url', 'https://api.example/mcp'];
  await svault(['proxies', 'create', '--name', 'reaching', ...upstream, '--service', 'reached']);
  const reach = ['reach', '--service', 'reached'];
  expect((await svault([...reach, '--format', 'wide'])).out).toContain(`  ${ISSUES}; ${TOOLS}  `);
  expect(JSON.parse((await svault([...reach, '--json'])).out)).toMatchObject([
    { credential: { requests: REQUESTS } },
  ]);
});

test('add says which rule is wrong before it reads a secret or names anything', async () => {
  const bad = ['--allow-request', 'GET api.example'];
  expect(await run('add', 'misspelt', ...HOST, ...bad)).toEqual({
    code: 2,
    out: '',
    err: 'error: --allow-request: api.example has no path, such as api.example/**; an example: GET,POST api.github.com/repos/acme/*\n',
  });
  expect((await svault(['show', 'misspelt'])).code).toBe(4);
  const both = ['--allow-request', 'none', '--allow-request', ISSUES];
  expect((await run('add', 'misspelt', ...both)).err).toBe(
    'error: --allow-request none cannot be combined\n',
  );
  expect((await svault(['add', 'misspelt', '--empty', '--allow-request', ISSUES])).code).toBe(2);
});

test('add and set warn of rules without an allowed host, which have no effect', async () => {
  const warning =
    'warning: the rules of hostless have no effect: they are for proxies, and it has no allowed host: svault set hostless --allow-host HOST\n';
  expect((await run('add', 'hostless', ...RULES)).err).toContain(warning);
  expect((await run('set', 'hostless', ...RULES)).err).toContain(warning);
  expect((await run('set', 'hostless', ...HOST, ...RULES)).err).not.toContain('no effect');
});

test('add --dry-run shows the rules that would be stored', async () => {
  const { out, err } = await run('add', 'dry', ...HOST, ...RULES, '--dry-run');
  expect(out + err).toContain('"/repo"');
  expect(out + err).not.toContain(SECRET);
});

describe('set of a credential with rules', () => {
  test('is refused without them, with the one command line that keeps them, and that line does', async () => {
    await run('add', 'kept', ...HOST, ...RULES);
    const { code, err } = await run('set', 'kept', '--field', 'value=x', ...HOST);
    expect(code).toBe(2);
    expect(err).toContain(
      `: svault set kept --field value=@FILE --allow-host api.example --allow-request '${ISSUES}' --allow-request '${TOOLS}'\n`,
    );
    expect(await run('set', 'kept', ...HOST, ...RULES)).toMatchObject({ code: 0 });
    expect(await held('kept')).toEqual(REQUESTS);
  });

  test('names the rules that are replaced, and repeats those that are typed', async () => {
    await run('add', 'narrowed', ...HOST, ...RULES, '--allow-header', 'x-key');
    const { err } = await run('set', 'narrowed', ...HOST, '--allow-request', TOOLS);
    expect(err).toContain(`replaces: ${ISSUES} (to keep: --allow-request '${ISSUES}')\n`);
    expect(err).toContain(
      `: svault set narrowed --allow-host api.example --allow-request '${TOOLS}' --allow-header x-key\n`,
    );
  });

  test('drops them where it says none, or allows no host', async () => {
    await run('add', 'opened', ...HOST, ...RULES);
    expect(await run('set', 'opened', ...HOST, '--allow-request', 'none')).toMatchObject({ code: 0 });
    expect(await held('opened')).toBeUndefined();
    await run('set', 'opened', ...HOST, ...RULES);
    expect(await run('set', 'opened', '--allow-host', 'none')).toMatchObject({ code: 0 });
    expect(await held('opened')).toBeUndefined();
  });
});
