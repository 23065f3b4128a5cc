import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKey } from '@svault/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Outcome, someone } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
beforeAll(async () => {
  people = await pairAndPeople();
  for (const name of ['ci', 'nightly']) await svault('agents', 'create', '--name', name);
  await svault('add', 'github', '--value', '0123456789abcdef0123');
});
afterAll(() => people.close());

const svault = (...args: readonly string[]): Promise<Outcome> => people.admin.svault(args);
/** @param input of a file that a command reads from stdin */
const reading = (input: string, ...args: readonly string[]): Promise<Outcome> =>
  people.admin.svault([...args, '-'], { input });

const OFFICE = `
policies:
  - name: office
    rules:
      - { type: ip_allowlist, cidrs: [192.0.2.0/24] }
      - type: time_window
        timezone: Europe/London
        windows: [{ days: [1, 2, 3, 4, 5], start: 09:00, end: 17:00 }]
    attach: { agents: [ci], services: [github] }
  - name: rare
    enabled: false
    rules: [{ type: max_usage, limit: 3 }]
`;

test('policies diff says what apply makes, apply makes it, and then there is nothing left to do', async () => {
  const lines = [
    '+ policy office',
    '  + enabled',
    '  + ip_allowlist {"cidrs":["192.0.2.0/24"]}',
    '  + time_window {"timezone":"Europe/London","windows":[{"days":[1,2,3,4,5],"end":"17:00","start":"09:00"}]}',
    '+ policy office attached to agent ci',
    '+ policy office attached to credential github',
    '+ policy rare',
    '  + disabled',
    '  + max_usage {"limit":3}',
    '',
  ].join('\n');
  const err = 'error: 4 changes would be applied by svault policies apply\n';
  expect(await reading(OFFICE, 'policies', 'diff')).toEqual({ code: 8, out: lines, err });
  expect((await svault('policies', 'list', '--format', 'name')).out).toBe('');
  expect(await reading(OFFICE, 'policies', 'apply')).toEqual({
    code: 0,
    out: lines,
    err: '4 changes applied\n',
  });
  const nothing = { code: 0, out: '', err: 'nothing to change\n' };
  expect(await reading(OFFICE, 'policies', 'apply')).toEqual(nothing);

  const { out: exported } = await svault('policies', 'export');
  expect(await reading(exported, 'policies', 'diff')).toMatchObject({
    code: 0,
    err: 'nothing would change\n',
  });
  const { out: asJson } = await svault('policies', 'export', '--json');
  expect(await reading(asJson, 'policies', 'diff')).toMatchObject({ code: 0 });

  const changed = OFFICE.replace('192.0.2.0/24', '198.51.100.0/24').replace(
    'agents: [ci]',
    'agents: [nightly]',
  );
  const { out } = await reading(changed, 'policies', 'apply');
  const id = (JSON.parse((await svault('agents', 'show', 'ci', '--json')).out) as { id: string }).id;
  expect(out.split('\n')).toEqual([
    '~ policy office',
    '  - ip_allowlist {"cidrs":["192.0.2.0/24"]}',
    '  + ip_allowlist {"cidrs":["198.51.100.0/24"]}',
    '+ policy office attached to agent nightly',
    `- policy office attached to agent ${id}`,
    '',
  ]);
  expect((await svault('policies', 'list', '--agent', 'nightly', '--format', 'name')).out).toBe('office\n');
  expect((await svault('policies', 'list', '--agent', 'ci', '--format', 'name')).out).toBe('');
});

test('a policy without attach in its file stays attached where it is', async () => {
  await reading(
    '{ name: kept, rules: [{ type: max_usage, limit: 1 }], attach: { agents: [ci] } }',
    'policies',
    'apply',
  );
  const { out } = await reading(
    '{ name: kept, rules: [{ type: max_usage, limit: 2 }] }',
    'policies',
    'apply',
  );
  expect(out).not.toContain('attached');
  const shown = JSON.parse((await svault('policies', 'show', 'kept', '--json')).out) as object;
  expect(shown).toMatchObject({ rules: [{ limit: 2 }], attachments: { agents: ['ci'] } });
  await svault('policies', 'rm', 'kept', '--yes');
});

test('policies test compares decisions with expectations: exit 8 where one is another', async () => {
  const policy =
    '{ name: net, rules: [{ type: ip_allowlist, cidrs: [203.0.113.0/24] }], attach: { agents: [walled] } }';
  await svault('agents', 'create', '--name', 'walled');
  await reading(policy, 'policies', 'apply');
  const request = (ip: string, expect: string): string =>
    `{ agent: walled, service: npm, ip: ${ip}, ${expect} }`;
  const met = [
    request('203.0.113.9', 'expect: allowed'),
    request('192.0.2.1', 'expect: denied, policy: net, rule: ip_allowlist'),
  ];
  expect(await reading(`tests: [${met.join()}]`, 'policies', 'test')).toMatchObject({
    code: 0,
    err: 'all 2 expectations are met\n',
  });
  const unmet = request('192.0.2.1', 'expect: denied, policy: other');
  const { code, out, err } = await reading(
    `tests: [${[...met, unmet].join()}]`,
    'policies',
    'test',
    '--json',
  );
  expect({ code, err }).toEqual({ code: 8, err: 'error: 1 of 3 expectations are not met\n' });
  expect(JSON.parse(out)).toMatchObject([
    { passed: true },
    { passed: true },
    { passed: false, policy: 'net' },
  ]);
});

test('policies preview lists the recent requests that the policies of a file would decide otherwise', async () => {
  await svault('add', 'pypi', '--value', '0123456789abcdef0123');
  await svault('agents', 'create', '--name', 'curious', '--grants', 'pypi');
  const { out: key } = await svault('agents', 'reveal-key', 'curious');
  const asked = await someone({
    SVAULT_BASE_URL: people.pair.controlPlaneUrl(),
    SVAULT_KEY: key.trim(),
  }).svault(['get', 'pypi']);
  expect(asked.code).toBe(0);
  const draft = '{ name: closed, rules: [{ type: manual_approval }], attach: { agents: [curious] } }';
  const { code, out, err } = await reading(draft, 'policies', 'preview');
  expect({ code, rows: out.trim().split('\n').length }).toEqual({ code: 0, rows: 2 });
  expect(out).toMatch(/curious +pypi +allowed +denied +manual_approval of closed/);
  expect(err).toMatch(
    /^closed: of \d+ requests in the log \(since .*, its beginning\) 1 would be denied, 0 let through, 0 cannot be told\n$/,
  );
  expect((await svault('policies', 'list', '--format', 'name')).out).not.toContain('closed');

  await reading(draft, 'policies', 'apply');
  const { out: json } = await reading(draft, 'policies', 'preview', '--json');
  expect(JSON.parse(json)).toMatchObject([{ policy: 'closed', denied: 1, allowed: 0 }]);
  await svault('policies', 'rm', 'closed', '--yes');

  const nowhere = await reading('{ name: new, rules: [{ type: manual_approval }] }', 'policies', 'preview');
  expect(nowhere).toMatchObject({ code: 2, out: '', err: expect.stringContaining('the policy new is new') });
});

test.each([
  ['nothing: here', /^error: stdin: .*\n$/],
  ['policies: [{ name: a, rules: [], atach: {} }]', /^error: stdin: policies\.0: .*atach.*\n$/],
  ['policies: [{ name: a, rules: [] }, { name: a, rules: [] }]', /^error: the policy a is there twice\n$/],
  ['{ name: a, name: b, rules: [] }', /^error: stdin: .*unique.*\n$/],
  ['name: [', /^error: stdin: .*\n$/],
  // Each level would be ten times the one below it.
  [
    `a: &a [${'x,'.repeat(10)}]\n${'bcdefghi'.replaceAll(/./g, (name) => `${name}: &${name} [${`*${String.fromCharCode((name.codePointAt(0) ?? 0) - 1)},`.repeat(10)}]\n`)}`,
    /^error: stdin: .*alias.*\n$/,
  ],
])('a file with %j is refused with its place, before any request', async (text, said) => {
  const offline = someone({ SVAULT_BASE_URL: 'http://127.0.0.1:1', SVAULT_KEY: newKey('svadmin') });
  const { code, out, err } = await offline.svault(['policies', 'apply', '-'], { input: text });
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(said);
});

test('a rule that the control plane refuses stops apply, which says what was made before', async () => {
  const text =
    'policies: [{ name: good, rules: [{ type: max_usage, limit: 1 }] }, { name: bad, rules: [{ type: max_usage, limit: -1 }] }]';
  const { code, out, err } = await reading(text, 'policies', 'apply');
  expect({ code, out }).toEqual({ code: 1, out: '+ policy good\n  + enabled\n  + max_usage {"limit":1}\n' });
  expect(err).toMatch(
    /^1 of 2 changes were applied; correct the file and apply it again\nerror: .*rules\.0\.limit.*\n$/,
  );
});

test('a file is read by its name, and one that is missing is named', async () => {
  const { dir } = someone();
  const file = join(dir, 'policies.json');
  writeFileSync(file, JSON.stringify({ name: 'from file', rules: [{ type: 'max_usage', limit: 9 }] }));
  expect(await svault('policies', 'apply', file)).toMatchObject({ code: 0 });
  expect(await svault('policies', 'apply', join(dir, 'gone.yaml'))).toMatchObject({
    code: 2,
    err: expect.stringMatching(/gone\.yaml cannot be read/) as string,
  });
});

test('policies apply takes a request_filter, and simulate says what it decides about a request of a proxy', async () => {
  await svault('add', 'asked', '--value', '0123456789abcdef0123');
  await svault(
    ...['proxies', 'create', '--name', 'issues', '--upstream-url', 'https://mcp.example.com/mcp'],
    ...['--service', 'asked', '--format', 'name'],
  );
  const file = `
name: reads
rules:
  - type: request_filter
    requests:
      - { methods: [GET], paths: [/repos/acme/**] }
      - { tools: [get_*], paths: [/mcp], arguments: { /repo: [site] } }
attach: { proxies: [issues] }
`;
  expect(await reading(file, 'policies', 'apply')).toMatchObject({ code: 0 });
  const decisionOf = async (...flags: string[]): Promise<string> => {
    const asked = ['policies', 'simulate', '--proxy', 'issues', '--service', 'asked', ...flags];
    return (await svault(...asked, '--format', 'name')).out.trim();
  };
  expect(await decisionOf()).toBe('unknown');
  expect(await decisionOf('--path', '/repos/acme/site')).toBe('allowed');
  expect(await decisionOf('--method', 'DELETE', '--path', '/repos/acme/site')).toBe('denied');
  expect(await decisionOf('--tool', 'get_issue', '--arguments', '{"repo":"site"}')).toBe('allowed');
  expect(await decisionOf('--tool', 'get_issue', '--arguments', '{"repo":"docs"}')).toBe('denied');
  expect(await decisionOf('--mcp-method', 'resources/read')).toBe('denied');
  const unknown = await svault('policies', 'simulate', '--proxy', 'issues', '--service', 'asked');
  expect(unknown.out).toContain('request_filter of reads (proxy): cannot tell without a request');
  for (const text of ['[]', 'site', 'null'])
    expect(
      await svault(
        ...['policies', 'simulate', '--proxy', 'issues', '--service', 'asked', '--tool', 'a'],
        ...['--arguments', text],
      ),
    ).toMatchObject({ code: 2, err: expect.stringContaining('--arguments takes a JSON object') });
  const tests = `
tests:
  - { proxy: issues, service: asked, call: { path: /repos/acme/site }, expect: allowed }
  - { proxy: issues, service: asked, call: { path: /user }, expect: denied, rule: request_filter }
`;
  expect(await reading(tests, 'policies', 'test')).toMatchObject({ code: 0 });
});
