/** Files that are not as they should be, before anything is asked of a control plane. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { commandLine } from './command-line.ts';

const user = commandLine();
afterAll(() => user.remove());

const SECRET = 'tok_Vb7mQ2xK9pLd4RtY8wZc';
const ENV = `API_TOKEN=${SECRET}\n`;

/** A folder with these files, for one test. */
function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir.path, name)), { recursive: true });
    writeFileSync(join(dir.path, name), content, { mode: 0o600 });
  }
  return dir.path;
}

async function imported(...args: readonly string[]) {
  const outcome = await user.svault(['import', ...args], { env: { HOME: user.dir } });
  expect(outcome.out + outcome.err).not.toContain(SECRET);
  return outcome;
}

interface Listed {
  readonly serviceName: string;
  readonly line: number;
  readonly place: string;
}
async function listed(...args: readonly string[]): Promise<readonly Listed[]> {
  return JSON.parse((await imported(...args, '--json')).out) as Listed[];
}

test.each([
  ['binary', Buffer.from([...Buffer.from(ENV), 0, 1]), 'is no text'],
  ['not in UTF-8', Buffer.concat([Buffer.from(ENV), Buffer.from([0xff])]), 'is no text in UTF-8'],
  ['huge', `${ENV}${'#'.repeat(4 * 1024 * 1024)}`, 'is larger than 4 MiB'],
])(
  'a file that is %s is named and left out; where a person named it, it is an error',
  async (_, content, why) => {
    const folder = folderWith({ '.env': content, '.env.local': ENV });
    const { code, out, err } = await imported('--from', folder, '--format', 'name');
    expect([code, out.trim().endsWith('-api-token'), err]).toEqual([
      0,
      true,
      expect.stringContaining(`${folder}/.env is skipped: it ${why}`),
    ]);
    expect(await imported('--from', join(folder, '.env'))).toEqual({
      code: 2,
      out: '',
      err: `error: ${folder}/.env ${why}\n`,
    });
  },
);

test('what is no file never makes it wait, and a symbolic link is not followed', async () => {
  const folder = folderWith({ elsewhere: ENV });
  execFileSync('mkfifo', [join(folder, '.env')]);
  symlinkSync('/dev/zero', join(folder, '.env.zero'));
  symlinkSync(join(folder, 'elsewhere'), join(folder, '.env.link'));
  mkdirSync(join(folder, '.npmrc'));
  const { code, out, err } = await imported('--from', folder);
  expect([code, out]).toEqual([0, '']);
  for (const said of [
    '.env is skipped: it is no file',
    '.env.zero is skipped: it is a symbolic link: name its target with --from',
    '.env.link is skipped: it is a symbolic link',
    '.npmrc is skipped: it is no file',
    'no credentials were found',
  ])
    expect(err).toContain(said);
});

test('a warning names the files that others can read', async () => {
  const folder = folderWith({ '.env': ENV, '.env.local': ENV });
  chmodSync(join(folder, '.env.local'), 0o640);
  const { err } = await imported('--from', folder);
  expect(err).toContain(
    `warning: other users of this machine can read ${folder}/.env.local: rotate what is there`,
  );
});

test('names and paths cannot act on a terminal', async () => {
  const folder = folderWith({
    'a\u001b[31mb/.mcp.json': JSON.stringify({
      mcpServers: { '\u001b]0;title\u0007\u202ename': { command: 'x', env: { TOKEN: SECRET } } },
    }),
  });
  const { out, err } = await imported('--from', join(folder, 'a\u001b[31mb'), '--format', 'wide');
  // oxlint-disable-next-line no-control-regex
  expect(out + err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  expect(out).toContain('TOKEN');
});

describe('a file of another format', () => {
  test.each([
    ['mcp', 'mcp.json', `{ "mcpServers": { "x": { "env": { "API_TOKEN": "${SECRET}" `],
    [
      'mcp',
      'mcp.json',
      `{ "mcpServers": {}, "mcpServers": { "x": { "env": { "API_TOKEN": "${SECRET}" } } } }`,
    ],
    ['gh', 'hosts.yml', `github.com: [ oauth_token: ${SECRET}\n`],
  ])('is left out, and nothing of it is quoted: %s', async (kind, name, text) => {
    const folder = folderWith({ [name]: text });
    const { code, out, err } = await imported('--from', join(folder, name));
    expect([code, out]).toEqual([0, '']);
    expect(err).toContain(`is skipped: it is not in the format of its kind (${kind})`);
  });

  test.each([
    'null',
    '[]',
    '"text"',
    '{"mcpServers":[{"env":1}],"servers":{"a":null,"b":{"env":"x","headers":[]}}}',
  ])('of an MCP configuration without servers there is nothing to say: %s', async (text) => {
    expect(await listed('--from', join(folderWith({ 'mcp.json': text }), 'mcp.json'))).toEqual([]);
  });
});

test('two of one name get two names, whatever else is called so', async () => {
  const server = { command: 'x', env: { TOKEN: SECRET } };
  const mcpServers = { web: server, 'WEB ': server, 'w eb': server, '😀': server, 日本: server };
  const folder = folderWith({ 'mcp.json': JSON.stringify({ mcpServers, servers: { web: server } }) });
  const names = (await listed('--from', join(folder, 'mcp.json'))).map(({ serviceName }) => serviceName);
  expect(new Set(names).size).toBe(6);
  expect(names).toEqual(expect.arrayContaining(['web-token', 'w-eb-token', '日本-token', 'token']));
});

test.each([
  [['--all'], '--all, --as and --keep-configs say how something is stored: they go with --write'],
  [['--write'], 'say what to store: names that svault import lists, or --all'],
  [['--write', '--all', 'one'], 'give names or --all, not both'],
  [['--write', '--as', 'one'], '--as renames one: give its name as well'],
  [['nothing-here'], 'nothing here is called nothing-here: svault import lists the names'],
  [['--from', '/does/not/exist'], '/does/not/exist cannot be read: no such file or directory'],
  [['--from', import.meta.filename], 'is not known by its name: give --kind as well'],
])('a command line that cannot be meant is an error of usage: %j', async (args, said) => {
  const env = { SVAULT_BASE_URL: 'http://127.0.0.1:1', SVAULT_KEY: `svadmin_${'A'.repeat(43)}` };
  const from = args.includes('--from') ? [] : ['--from', folderWith({})];
  const { code, out, err } = await user.svault(['import', ...args, ...from], { env });
  expect([code, out, err]).toEqual([2, '', expect.stringContaining(said)]);
});

test('each program’s variable for its file is followed', async () => {
  const folder = folderWith({
    'aws/keys': `[ops]\naws_access_key_id=AKIAQ7W3E9R5T1Y8U2I6\naws_secret_access_key=${SECRET}\n`,
    'gh/hosts.yml': `github.example.com:\n  oauth_token: ${SECRET}\n`,
    'config/Code/User/mcp.json': JSON.stringify({ servers: { a: { command: 'x', env: { TOKEN: SECRET } } } }),
    'my-netrc': `machine files.example.com password ${SECRET}`,
    'my-npmrc': `_authToken=${SECRET}`,
    'claude/.claude.json': JSON.stringify({ mcpServers: { b: { command: 'x', env: { TOKEN: SECRET } } } }),
  });
  const env = {
    HOME: join(folder, 'nowhere'),
    XDG_CONFIG_HOME: join(folder, 'config'),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'aws/keys'),
    GH_CONFIG_DIR: join(folder, 'gh'),
    NETRC: join(folder, 'my-netrc'),
    NPM_CONFIG_USERCONFIG: join(folder, 'my-npmrc'),
    CLAUDE_CONFIG_DIR: join(folder, 'claude'),
  };
  const { out } = await user.spawned(['import', '--format', 'name'], { cwd: folder, env });
  expect(out.trim().split('\n').toSorted()).toEqual(
    [
      ...['a-token', 'aws-ops', 'b-token', 'gh-github.example.com'],
      ...['netrc-files.example.com', 'npm-registry.npmjs.org'],
    ].toSorted(),
  );
});

test('a list leaves files as they are, and reads those of a folder that cannot be written', async () => {
  const folder = folderWith({ '.env': ENV });
  chmodSync(folder, 0o500);
  expect(await listed('--from', folder)).toMatchObject([{ line: 1, place: 'API_TOKEN' }]);
  chmodSync(folder, 0o700);
  expect(readFileSync(join(folder, '.env'), 'utf8')).toBe(ENV);
});
