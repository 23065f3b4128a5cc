import { createServer } from 'node:http';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse as parseJsonc } from 'jsonc-parser';
import { type HomeOfSecrets, VALUES, homeOfSecrets, treeOf } from './home-of-secrets.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

/** Path of the upstream by configuration, and what each must bring. */
const UPSTREAMS: Readonly<Record<string, string>> = {
  '/cursor': VALUES.cursorHeader,
  '/vscode': VALUES.vscodeHeader,
  '/claude': VALUES.claudeHeader,
  '/project': VALUES.projectHeader,
};

/** An MCP server at several addresses, each with a credential. */
async function startUpstream() {
  const server = createServer((req, res) => {
    const wanted = UPSTREAMS[req.url ?? ''];
    if (wanted === undefined || req.headers.authorization !== `Bearer ${wanted}`)
      return void res.writeHead(401).end();
    const mcp = new McpServer({ name: 'upstream', version: '1.0.0' });
    mcp.registerTool('where', { description: 'where it is' }, () => ({
      content: [{ type: 'text', text: req.url ?? '' }],
    }));
    const transport = new StreamableHTTPServerTransport();
    void mcp.connect(transport).then(() => transport.handleRequest(req, res));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

let people: PairAndPeople;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let place: HomeOfSecrets;
const said: string[] = [];
beforeAll(async () => {
  [people, upstream] = await Promise.all([pairAndPeople(), startUpstream()]);
  place = homeOfSecrets(upstream.url);
});
afterAll(async () => {
  place.remove();
  upstream.server.closeAllConnections();
  upstream.server.close();
  await people.close();
});

/** In this process, where the working directory is another: files of the home folder, and of what `--from` names. */
async function svaultHere(...args: readonly string[]) {
  const outcome = await people.admin.svault(args, { env: { HOME: place.home } });
  said.push(args.join(' '), outcome.out, outcome.err);
  return outcome;
}

/** As a process in the folder of the project. */
async function svault(...args: readonly string[]) {
  const outcome = await people.admin.spawned([...args], { cwd: place.project, env: { HOME: place.home } });
  said.push(args.join(' '), outcome.out, outcome.err);
  return outcome;
}

interface Listed {
  readonly serviceName: string;
  readonly state: string;
  readonly file: string;
  readonly line: number;
  readonly place: string;
  readonly tokenType: string;
  readonly bytes: number;
  readonly allowedHosts: readonly string[];
  readonly rewrites: boolean;
}
const list = async (): Promise<readonly Listed[]> =>
  JSON.parse((await svault('import', '--json')).out) as Listed[];
const listHere = async (...args: readonly string[]): Promise<readonly Listed[]> =>
  JSON.parse((await svaultHere('import', ...args, '--json')).out) as Listed[];
const states = (items: readonly Listed[]): Readonly<Record<string, string>> =>
  Object.fromEntries(items.map(({ serviceName, state }) => [serviceName, state]));

/** Names of the list, where each is, and its value. */
const ALL: Readonly<Record<string, readonly [at: string, value: string]>> = {
  'shop-api-token': ['~/work/Shop/.env:5', VALUES.envToken],
  'shop-database-url': ['~/work/Shop/.env:6', VALUES.envDatabase],
  'shop-signing-key': ['~/work/Shop/.env:9', VALUES.envPrivateKey],
  'shop-api-token-local': ['~/work/Shop/.env.local:1', VALUES.envLocal],
  tracker: ['~/work/Shop/.mcp.json:6', VALUES.projectHeader],
  docs: ['~/work/Shop/.vscode/mcp.json:5', VALUES.vscodeHeader],
  'docs-cursor': ['~/.cursor/mcp.json:6', VALUES.cursorHeader],
  notes: ['~/.claude.json:11', VALUES.claudeHeader],
  'slack-token': ['~/.config/Claude/claude_desktop_config.json:10', VALUES.desktopEnv],
  'aws-default': ['~/.aws/credentials:3', VALUES.awsSecret],
  'gh-github.com': ['~/.config/gh/hosts.yml:3', VALUES.gh],
  'gh-github.com-grace': ['~/.config/gh/hosts.yml:8', VALUES.ghOther],
  'netrc-files.example.com': ['~/.netrc:3', VALUES.netrc],
  'netrc-default': ['~/.netrc:7', VALUES.netrcDefault],
  'npm-registry.npmjs.org': ['~/.npmrc:1', VALUES.npm],
  'npm-npm.example.com-8443-auth': ['~/.npmrc:3', VALUES.npmAuth],
};

const PROXIED = ['tracker', 'docs', 'notes', 'docs-cursor'];
const names = Object.keys(ALL);
const each = (state: string): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, state]));

test('import lists every kind with its place, and changes nothing anywhere', async () => {
  const before = treeOf(place.home);
  const items = await list();
  expect(Object.fromEntries(items.map((item) => [item.serviceName, `${item.file}:${item.line}`]))).toEqual(
    Object.fromEntries(Object.entries(ALL).map(([name, [at]]) => [name, at])),
  );
  for (const { serviceName, bytes } of items)
    expect([serviceName, bytes]).toEqual([serviceName, Buffer.byteLength(ALL[serviceName]?.[1] ?? '')]);
  expect(states(items)).toEqual(each('new'));
  expect(items.filter(({ rewrites }) => rewrites).map(({ serviceName }) => serviceName)).toEqual(PROXIED);
  const hosts = Object.fromEntries(items.map((item) => [item.serviceName, item.allowedHosts]));
  expect(hosts).toMatchObject({
    tracker: [upstream.url],
    'aws-default': [],
    'gh-github.com': ['api.github.com', 'github.com'],
    'netrc-files.example.com': ['files.example.com'],
    'npm-registry.npmjs.org': ['registry.npmjs.org'],
    // Too short for a proxy to inject it.
    'npm-npm.example.com-8443-auth': [],
  });
  const table = await svault('import', '--format', 'wide');
  expect(table.code).toBe(0);
  expect(table.err).toMatch(/values are left out: placeholders, references, or no secrets by their names\n/);
  expect(table.err).toMatch(/^warning: other users of this machine can read ~\/work\/Shop\/\.env, /m);
  expect(table.err).not.toContain('netrc');
  expect(table.err).toContain('nothing was changed; svault import --write NAME');
  expect(
    (await svaultHere('import', '--write', '--all', '--dry-run', '--from', place.project)).out,
  ).toContain('"serviceName": "tracker"');
  expect(treeOf(place.home)).toEqual(before);
  expect((await people.admin.svault(['ls', '--json'])).out).toBe('[]\n');
});

test('--from and --kind narrow the list, and a list needs no login', async () => {
  const only = await svault('import', '--from', '.env', '--kind', 'env', '--format', 'name');
  expect(only.out).toBe('shop-api-token\nshop-database-url\nshop-signing-key\n');
  const netrc = await svaultHere('import', '--kind', 'netrc', '--kind', 'gh', '--format', 'name');
  expect(netrc.out.split('\n')).toHaveLength(5);
  const options = { env: { HOME: place.home } };
  const unknown = await people.stranger().svault(['import', '--json', '--from', place.project], options);
  said.push(unknown.out, unknown.err);
  expect(new Set(Object.values(states(JSON.parse(unknown.out) as Listed[])))).toEqual(new Set(['unknown']));
  expect(unknown.err).toContain('what is stored already is unknown: ');
  const elsewhere = await svaultHere('import', '--from', place.project, '--kind', 'mcp', '--format', 'name');
  expect(elsewhere.out).toBe('tracker\ndocs\n');
});

test('--write stores what is named at the webhook, and another name where one is taken', async () => {
  await people.admin.svault(['add', 'netrc-default'], { input: 'of somebody else, by hand' });
  const taken = await svaultHere('import', '--kind', 'netrc', '--write', 'netrc-default');
  expect([taken.code, taken.err]).toEqual([
    1,
    expect.stringContaining(
      'svault import --write netrc-default --as NAME stores that of ~/.netrc under another',
    ),
  ]);
  const renamed = await svaultHere(
    'import',
    '--kind',
    'netrc',
    '--write',
    'netrc-default',
    '--as',
    'netrc-any',
  );
  expect([renamed.code, renamed.err]).toEqual([0, expect.stringContaining('netrc-any is stored at ')]);
  expect((await people.admin.svault(['get', 'netrc-default'])).out).toBe('of somebody else, by hand');
  expect((await people.admin.svault(['get', 'netrc-any'])).out).toBe(VALUES.netrcDefault);
  const items = await listHere('--from', place.project, '--from', join(place.home, '.netrc'));
  expect(states(items)).toMatchObject({ 'netrc-any': 'stored', 'shop-api-token': 'new' });
  expect(states(items)).not.toHaveProperty('netrc-default');
});

test('at a terminal --write asks for each, and stores those that a person agrees to', async () => {
  const folder = join(place.home, 'asked');
  mkdirSync(folder);
  writeFileSync(join(folder, '.env'), `FIRST_TOKEN=${VALUES.netrcMacro}\nLAST_TOKEN=${VALUES.awsSession}\n`);
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => undefined });
  const answers = ['n', 'y'];
  let asked = 0;
  const onErr = (text: string): void => {
    while (asked < (text.match(/\[Y\/n\] /g)?.length ?? 0)) stdin.write(`${answers[asked++] ?? ''}\r`);
  };
  const seat = { stdin, isPerson: true, onErr, env: { HOME: place.home } };
  const { code, err, out } = await people.admin.svault(['import', '--write', '--from', folder], seat);
  said.push(out, err);
  expect([code, err]).toEqual([
    0,
    expect.stringContaining('Store asked-first-token (~/asked/.env:1)? [Y/n]'),
  ]);
  expect((await people.admin.svault(['get', 'asked-last-token'])).out).toBe(VALUES.awsSession);
  expect((await people.admin.svault(['show', 'asked-first-token'])).code).toBe(4);
});

test('a run that stops in the middle keeps what it stored, and the next one goes on with the rest', async () => {
  await people.pair.stop('webhook');
  const stopped = await svaultHere('import', '--from', place.project, '--write', 'shop-api-token');
  await people.pair.start('webhook');
  expect(stopped.code).toBe(5);
  expect(stopped.err).toContain('shop-api-token is created, but its secret may not be stored');
  expect(states(await listHere('--from', place.project))).toMatchObject({
    'shop-api-token': 'unfinished',
    'shop-database-url': 'new',
  });
  expect((await svaultHere('import', '--from', place.project, '--write', 'shop-api-token')).code).toBe(0);
  expect((await people.admin.svault(['get', 'shop-api-token'])).out).toBe(VALUES.envToken);
});

test('--write --all stores the rest, and leads MCP configurations to proxies that work', async () => {
  const before = treeOf(place.home);
  const { code, err } = await svault('import', '--write', '--all');
  expect([code, err]).toEqual([
    0,
    expect.stringContaining(' goes through the proxy docs-cursor now; before: '),
  ]);
  expect(err).toContain('programs get these by svault exec --with DATABASE_URL=shop-database-url -- COMMAND');
  for (const [name, [, value]] of Object.entries(ALL)) {
    if (PROXIED.includes(name) || name === 'aws-default') continue;
    const stored = name === 'netrc-default' ? 'netrc-any' : name;
    expect([name, (await people.admin.svault(['get', stored])).out]).toEqual([name, value]);
  }
  const aws = await people.admin.svault(['show', 'aws-default', '--json']);
  expect(JSON.parse(aws.out)).toMatchObject({ tokenType: 'RawCredential', webhook: { empty: false } });
  const after = treeOf(place.home);
  const changed = [...after].filter(([path, state]) => before.get(path) !== state && statSync(path).isFile());
  expect(changed.map(([path]) => path.slice(place.home.length))).toEqual(
    ['/.claude.json', '/.cursor/mcp.json', '/work/Shop/.mcp.json', '/work/Shop/.vscode/mcp.json'].flatMap(
      (path) => [path, `${path}.svault-backup`],
    ),
  );
  for (const [path] of changed) expect([path, statSync(path).mode & 0o777]).toEqual([path, 0o600]);
  for (const [path, state] of before)
    if (existsSync(`${path}.svault-backup`))
      expect(state).toContain(` ${readFileSync(`${path}.svault-backup`, 'latin1')}`);
});

const CONFIGS: readonly (readonly [file: string, members: readonly string[], where: string])[] = [
  ['.cursor/mcp.json', ['mcpServers', 'docs'], '/cursor'],
  ['work/Shop/.vscode/mcp.json', ['servers', 'docs'], '/vscode'],
  ['work/Shop/.mcp.json', ['mcpServers', 'tracker'], '/project'],
];

test.each(CONFIGS)('an MCP client works with %s as it is written now', async (file, members, where) => {
  const config: unknown = parseJsonc(readFileSync(join(place.home, file), 'utf8'));
  const server = members.reduce((each, name) => (each as Record<string, unknown>)[name], config);
  const { url, headers } = server as { url: string; headers: Record<string, string> };
  expect(url).toBe(`${people.pair.controlPlaneUrl()}/api/proxy/mcp`);
  const client = new Client({ name: 'a client', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  expect(await client.callTool({ name: 'where' })).toMatchObject({ content: [{ text: where }] });
  await client.close();
});

test('what else is in a configuration stays as it was: members, comments, line ends, trailing commas', () => {
  const now = readFileSync(join(place.project, '.vscode/mcp.json'), 'utf8');
  const before = readFileSync(join(place.project, '.vscode/mcp.json.svault-backup'), 'utf8');
  const [key = ''] = /mcp_[\w-]+/.exec(now) ?? [];
  const back = now
    .replace(`${people.pair.controlPlaneUrl()}/api/proxy/mcp`, `${upstream.url}/vscode`)
    .replace(key, VALUES.vscodeHeader);
  expect(back).toBe(before);
});

test('a second run finds nothing new and changes nothing', async () => {
  const before = treeOf(place.home);
  const items = await list();
  expect(new Set(items.map(({ state }) => state))).toEqual(new Set(['stored', 'svault']));
  const again = await svault('import', '--write', '--all');
  expect([again.code, again.out]).toEqual([0, '']);
  expect(again.err).toContain('there is nothing new to store\n');
  expect(treeOf(place.home)).toEqual(before);
});

test('a configuration that has its secret back goes to the proxy that it had, and keeps both backups', async () => {
  const path = join(place.home, '.cursor/mcp.json');
  const proxied = readFileSync(path, 'utf8');
  const proxies = (await svaultHere('proxies', '--format', 'name')).out;
  copyFileSync(`${path}.svault-backup`, path);
  const item = (await listHere('--kind', 'mcp')).find(({ serviceName }) => serviceName === 'docs-cursor');
  expect(item).toMatchObject({ state: 'stored', rewrites: true });
  expect((await svaultHere('import', '--kind', 'mcp', '--write', '--all', '--keep-configs')).err).toContain(
    'nothing new to store',
  );
  const again = await svaultHere('import', '--kind', 'mcp', '--write', 'docs-cursor');
  expect(again.err).toContain('docs-cursor is stored already\n');
  expect(readFileSync(path, 'utf8')).toBe(proxied);
  expect((await svaultHere('proxies', '--format', 'name')).out).toBe(proxies);
  expect(statSync(`${path}.svault-backup-2`).mode & 0o777).toBe(0o600);
});

test('no output of any run had a value, in any form', () => {
  const bytes = Buffer.from(said.join('\n'));
  for (const [name, value] of Object.entries(VALUES))
    expect([name, tracesOf(value, bytes)]).toEqual([name, []]);
  const parts = [VALUES.envDatabase.slice(16, 32), ...VALUES.envPrivateKey.split('\n')];
  for (const part of parts) expect(bytes.includes(part)).toBe(false);
});

test('the control plane has names and places, and no value', async () => {
  const { out } = await people.admin.svault(['account', 'export']);
  expect(out).toContain('Imported by svault import from ~/.netrc machine files.example.com');
  const bytes = Buffer.from(out + people.pair.logOf('control-plane'));
  for (const [name, value] of Object.entries(VALUES))
    expect([name, tracesOf(value, bytes)]).toEqual([name, []]);
});
