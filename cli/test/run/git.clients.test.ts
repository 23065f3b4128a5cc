import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SECRET } from './covered-api.ts';
import { type Programs, type Ran, programs, shown } from './programs.ts';

const BASIC = `Basic ${Buffer.from(`x-access-token:${SECRET}`).toString('base64')}`;
const FILE = randomBytes(3_000_000);
const folder = tempDir();
afterAll(() => folder.remove());

/** CGI (RFC 3875), as far as git needs it. */
const serveGit = (req: IncomingMessage, res: ServerResponse): void => {
  const [path = '', query = ''] = (req.url ?? '').split('?');
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: folder.path,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'tester',
      REQUEST_METHOD: req.method,
      PATH_INFO: path,
      QUERY_STRING: query,
      CONTENT_TYPE: req.headers['content-type'],
      HTTP_CONTENT_ENCODING: req.headers['content-encoding'],
      HTTP_GIT_PROTOCOL: String(req.headers['git-protocol'] ?? ''),
    },
  });
  req.pipe(backend.stdin);
  const chunks: Buffer[] = [];
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  backend.once('close', () => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf('\r\n\r\n');
    const fields = all
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string]);
    const status = Number(fields.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
    res
      .writeHead(status, Object.fromEntries(fields.filter(([name]) => name !== 'Status')))
      .end(all.subarray(end + 4));
  });
};

let api: Programs;
/** Where the repository is served from, and what it is filled from. */
const [bare, source] = [join(folder.path, 'acme/site'), join(folder.path, 'source')];
beforeAll(async () => {
  api = await programs({
    header: ['authorization', 'Basic ${BASIC:x-access-token}'],
    isAuthorized: ({ authorization }) => authorization === BASIC,
    api: serveGit,
  });
  git('init', '-q', '--bare', '-b', 'main', bare);
  git('-C', bare, 'config', 'http.receivepack', 'true');
  git('clone', '-q', bare, source);
  commit(source, FILE);
  git('-C', source, 'push', '-q', 'origin', 'HEAD:main');
});
afterAll(() => api.close());

/** Runs git beside the server. */
function git(...args: readonly string[]): string {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  const { status, stdout, stderr } = spawnSync('git', [...identity, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: folder.path },
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

function commit(clone: string, file: Uint8Array): void {
  writeFileSync(join(clone, 'file'), file);
  git('-C', clone, 'add', '.');
  git('-C', clone, 'commit', '-qm', 'a file');
}

const headOf = (repository: string): string => git('-C', repository, 'rev-parse', 'main');

const PROMPT = { GIT_TERMINAL_PROMPT: '0' };

/** Clones, pulls and pushes. @param run git by one of the ways; `clone` lies there */
async function everything(clone: string, run: (...args: readonly string[]) => Promise<Ran>): Promise<void> {
  const own = join(api.homes.direct, `beside-${clone.split('/').at(-2)}`);
  const extra = `http.extraHeader=Authorization: ${BASIC}`;
  const direct = await api.direct(['git', '-c', extra, 'clone', '-q', `${api.origin}/acme/site`, own]);
  expect(direct).toMatchObject({ code: 0, err: '' });
  expect(headOf(clone)).toBe(headOf(own));
  expect(readFileSync(join(clone, 'file')).equals(readFileSync(join(own, 'file')))).toBe(true);

  for (let n = 0; n < 20; n += 1) git('-C', source, 'commit', '-q', '--allow-empty', '-m', `commit ${n}`);
  git('-C', source, 'pull', '-q', '--rebase', 'origin', 'main');
  git('-C', source, 'push', '-q', 'origin', 'HEAD:main');
  expect(await run('-C', clone, 'pull', '-q')).toMatchObject({ code: 0 });
  expect(headOf(clone)).toBe(headOf(source));

  // More than git sends at once: it asks first and then sends pieces.
  commit(clone, randomBytes(3_000_000));
  expect(await run('-C', clone, 'push', '-q', 'origin', 'HEAD:main')).toMatchObject({ code: 0 });
  expect(headOf(bare)).toBe(headOf(clone));

  commit(clone, randomBytes(9_000_000));
  const tooLarge = await run('-C', clone, 'push', '-q', 'origin', 'HEAD:main');
  expect(tooLarge.code).not.toBe(0);
  expect(tooLarge.err).toContain('413');
}

test('git clones, pulls and pushes by base URL, and is asked for the key', async () => {
  const { origin } = new URL(api.base);
  const script = shown('http-apis.md', 'git config', {
    'https://svault.example.org': origin,
    'https://github.com/': `${api.origin}/`,
  });
  const env = { ...PROMPT, GIT_KEY: api.key };
  expect(await api.byBaseUrl(['sh', '-ec', script], { env })).toMatchObject({ code: 0 });
  await everything(join(api.homes.base, 'site'), (...args) => api.byBaseUrl(['git', ...args], { env }));
});

test('git clones, pulls and pushes in svault run', async () => {
  const run = (...args: readonly string[]): Promise<Ran> => api.inRun(['git', ...args], { env: PROMPT });
  expect(await run('clone', '-q', `${api.origin}/acme/site`)).toMatchObject({ code: 0 });
  await everything(join(api.homes.run, 'site'), run);
});
