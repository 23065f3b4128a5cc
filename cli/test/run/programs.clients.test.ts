import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CoveredApi, SECRET, coveredApi } from './covered-api.ts';

// Each program does the same with the credential by itself and without it in `svault run`, and has the same bytes.

const BASIC = `Basic ${Buffer.from(`x-access-token:${SECRET}`).toString('base64')}`;
const FILE = randomBytes(3_000_000);
const ETAG = `"${createHash('sha256').update(FILE).digest('hex')}"`;
const folder = tempDir();
const repositories = join(folder.path, 'repositories');
let api: CoveredApi;

const serveFile = (req: IncomingMessage, res: ServerResponse): void => {
  const headers = { etag: ETAG, 'accept-ranges': 'bytes', 'content-type': 'application/octet-stream' };
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(req.headers.range ?? '') ?? [];
  if (req.headers['if-none-match'] === ETAG) res.writeHead(304, headers).end();
  else if (Number(from) >= FILE.length)
    res.writeHead(416, { ...headers, 'content-range': `bytes */${FILE.length}` }).end();
  else if (from !== undefined && to !== undefined) {
    const piece = FILE.subarray(Number(from), Number(to) + 1);
    const range = { 'content-range': `bytes ${from}-${to}/${FILE.length}`, 'content-length': piece.length };
    res.writeHead(206, { ...headers, ...range }).end(piece);
  } else
    res
      .writeHead(200, { ...headers, 'content-length': FILE.length })
      .end(req.method === 'HEAD' ? undefined : FILE);
};

/** CGI (RFC 3875), as far as git needs it. */
const serveGit = (req: IncomingMessage, res: ServerResponse): void => {
  const [path = '', query = ''] = (req.url ?? '').split('?');
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: join(repositories, '..'),
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

const routes: RequestListener = (req, res) => {
  if (req.url?.startsWith('/repositories/') === true) return serveGit(req, res);
  if (req.url === '/moved') return void res.writeHead(302, { location: '/file' }).end();
  if (req.url === '/echo')
    return void req.pipe(res.writeHead(200, { 'content-type': 'application/octet-stream' }));
  serveFile(req, res);
};

beforeAll(async () => {
  api = await coveredApi({ header: 'Basic ${BASIC:x-access-token}', expected: BASIC, api: routes });
});
afterAll(async () => {
  await api.close();
  folder.remove();
});

interface Ran {
  readonly code: number | null;
  readonly out: Buffer;
  readonly err: string;
}

async function ran(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  const child = spawn(program, args, { env, cwd: folder.path, stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks: Buffer[] = [];
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: Buffer.concat(chunks), err };
}

const BIN = new URL('../../src/bin.ts', import.meta.url).pathname;
const direct = (program: string, ...args: readonly string[]): Promise<Ran> =>
  ran(program, args, { ...api.env, GIT_TERMINAL_PROMPT: '0' });
const inRun = (program: string, ...args: readonly string[]): Promise<Ran> =>
  ran(process.execPath, [BIN, 'run', '--', program, ...args], { ...api.env, GIT_TERMINAL_PROMPT: '0' });

/** What a program writes, with the credential by itself and in a run. */
async function bothWays(
  program: string,
  args: (credential: readonly string[]) => readonly string[],
  credential: readonly string[],
): Promise<Ran> {
  const [own, through] = [await direct(program, ...args(credential)), await inRun(program, ...args([]))];
  expect([own.code, own.err]).toEqual([0, '']);
  expect([through.code, through.err]).toEqual([
    0,
    expect.stringMatching(/^svault run: \d+ requests? to 127\.0\.0\.1 with the credential api\n$/),
  ]);
  expect(through.out.equals(own.out)).toBe(true);
  return through;
}

describe('curl', () => {
  const own = ['-H', `Authorization: ${BASIC}`];
  const curl = (...more: readonly string[]): Promise<Ran> =>
    bothWays('curl', (credential) => ['-sS', ...credential, ...more], own);

  test('a file, a piece of it, and what a HEAD tells of it', async () => {
    expect((await curl(`${api.origin}/file`)).out.equals(FILE)).toBe(true);
    expect((await curl('-r', '100-199', `${api.origin}/file`)).out.equals(FILE.subarray(100, 200))).toBe(
      true,
    );
    const told = [
      '-w',
      '\n%{http_code} %header{content-length} %header{content-range} %header{etag} %header{accept-ranges}',
    ];
    expect((await curl(...told, '-I', '-o', '/dev/null', `${api.origin}/file`)).out.toString()).toContain(
      `200 ${FILE.length}  ${ETAG} bytes`,
    );
    await curl(...told, '-r', '9999999-9999999', `${api.origin}/file`);
    await curl(...told, '-H', `If-None-Match: ${ETAG}`, `${api.origin}/file`);
    expect((await curl('-L', `${api.origin}/moved`)).out.equals(FILE)).toBe(true);
  });

  test('a body of a megabyte, which curl announces first', async () => {
    const body = join(folder.path, 'body');
    writeFileSync(body, FILE.subarray(0, 1_500_000));
    const { out } = await curl('--data-binary', `@${body}`, `${api.origin}/echo`);
    expect(out.equals(FILE.subarray(0, 1_500_000))).toBe(true);
  });

  test('another host has the program’s own check of its certificate', async () => {
    expect((await inRun('curl', '-sS', `${api.outside}/`)).out.toString()).toBe('outside: undefined');
    expect(await inRun('curl', '-sS', `${api.impostor}/`)).toMatchObject({ code: 60 });
  });
});

describe('Python', () => {
  const URLLIB = `
import os, sys, urllib.request
request = urllib.request.Request(sys.argv[1], headers={'Authorization': sys.argv[2]} if len(sys.argv) > 2 else {})
sys.stdout.buffer.write(urllib.request.urlopen(request).read())`;
  const REQUESTS = `
import sys, requests
headers = {'Authorization': sys.argv[2]} if len(sys.argv) > 2 else {}
sys.stdout.buffer.write(requests.get(sys.argv[1], headers=headers).content)`;

  test('urllib', async () => {
    const { out } = await bothWays(
      'python3',
      (credential) => ['-c', URLLIB, `${api.origin}/file`, ...credential],
      [BASIC],
    );
    expect(out.equals(FILE)).toBe(true);
  });

  test.runIf(spawnSync('python3', ['-c', 'import requests']).status === 0)('requests', async () => {
    const { out } = await bothWays(
      'python3',
      (credential) => ['-c', REQUESTS, `${api.origin}/moved`, ...credential],
      [BASIC],
    );
    expect(out.equals(FILE)).toBe(true);
    expect(await inRun('python3', '-c', REQUESTS, `${api.impostor}/`)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/CERTIFICATE_VERIFY_FAILED/),
    });
  });
});

test('fetch of Node', async () => {
  const FETCH = `
    const [url, credential] = process.argv.slice(1);
    const answer = await fetch(url, { headers: credential ? { authorization: credential } : {} });
    process.stdout.write(Buffer.from(await answer.arrayBuffer()));`;
  const args = (credential: readonly string[]) => [
    '--input-type=module',
    '-e',
    FETCH,
    `${api.origin}/file`,
    ...credential,
  ];
  expect((await bothWays(process.execPath, args, [BASIC])).out.equals(FILE)).toBe(true);
});

test('git clones, fetches and pushes', async () => {
  const git = (...args: readonly string[]): string => {
    const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
    const { status, stdout, stderr } = spawnSync('git', [...identity, ...args], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: folder.path },
    });
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  const bare = join(repositories, 'tools.git');
  mkdirSync(repositories, { recursive: true });
  git('init', '-q', '--bare', '-b', 'main', bare);
  const [source, clone] = [join(folder.path, 'source'), join(folder.path, 'clone')];
  git('clone', '-q', bare, source);
  writeFileSync(join(source, 'file'), FILE);
  git('-C', source, 'add', '.');
  git('-C', source, 'commit', '-qm', 'one');
  git('-C', source, 'push', '-q', 'origin', 'HEAD:main');

  const url = `${api.origin}/repositories/tools.git`;
  const extra = ['-c', `http.extraHeader=Authorization: ${BASIC}`];
  const own = join(folder.path, 'own');
  expect(await direct('git', ...extra, 'clone', '-q', url, own)).toMatchObject({ code: 0 });
  expect(await inRun('git', 'clone', '-q', url, clone)).toMatchObject({ code: 0 });
  expect(readFileSync(join(clone, 'file')).equals(FILE)).toBe(true);
  expect(git('-C', clone, 'rev-parse', 'HEAD')).toBe(git('-C', own, 'rev-parse', 'HEAD'));

  for (let n = 0; n < 20; n += 1) git('-C', source, 'commit', '-q', '--allow-empty', '-m', `commit ${n}`);
  git('-C', source, 'push', '-q', 'origin', 'HEAD:main');
  expect(await inRun('git', '-C', clone, 'pull', '-q')).toMatchObject({ code: 0 });
  expect(git('-C', clone, 'rev-parse', 'HEAD')).toBe(git('-C', source, 'rev-parse', 'HEAD'));
  git('-C', bare, 'config', 'http.receivepack', 'true');
  git('-C', clone, 'commit', '-q', '--allow-empty', '-m', 'pushed');
  expect(await inRun('git', '-C', clone, 'push', '-q', 'origin', 'HEAD:main')).toMatchObject({ code: 0 });
  expect(git('-C', bare, 'rev-parse', 'main')).toBe(git('-C', clone, 'rev-parse', 'HEAD'));
});
