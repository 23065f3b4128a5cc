import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SECRET } from './covered-api.ts';
import { type Programs, programs, pythonOfPrograms } from './programs.ts';

// Each program does the same with the credential by itself and without it, and has the same bytes.

const FILE = randomBytes(3_000_000);
const ETAG = `"${createHash('sha256').update(FILE).digest('hex')}"`;
const folder = tempDir();
afterAll(() => folder.remove());
let api: Programs;

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

const routes: RequestListener = (req, res) => {
  if (req.url === '/moved') return void res.writeHead(302, { location: '/file' }).end();
  if (req.url === '/echo')
    return void req.pipe(res.writeHead(200, { 'content-type': 'application/octet-stream' }));
  serveFile(req, res);
};

beforeAll(async () => {
  api = await programs({ api: routes });
});
afterAll(() => api.close());

type Command = readonly [string, ...string[]];

/** What a program writes, with the credential by itself, by base URL and in a run. @param command for an address of the API and what to send as Authorization */
async function everyWay(command: (origin: string, authorization?: string) => Command): Promise<Buffer> {
  const own = await api.direct(command(api.origin, `Bearer ${SECRET}`));
  expect([own.code, own.err]).toEqual([0, '']);
  const byBaseUrl = await api.byBaseUrl(command(api.base, `Bearer ${api.key}`));
  expect([byBaseUrl.code, byBaseUrl.err]).toEqual([0, '']);
  const inRun = await api.inRun(command(api.origin));
  expect([inRun.code, inRun.err]).toEqual([
    0,
    expect.stringMatching(/^svault run: \d+ requests? to 127\.0\.0\.1 with the credential api\n$/),
  ]);
  expect(byBaseUrl.out.equals(own.out)).toBe(true);
  expect(inRun.out.equals(own.out)).toBe(true);
  return own.out;
}

describe('curl', () => {
  const curl = (path: string, ...more: readonly string[]): Promise<Buffer> =>
    everyWay((origin, authorization) => [
      ...(['curl', '-sS', ...more] as const),
      ...(authorization === undefined ? [] : ['-H', `Authorization: ${authorization}`]),
      origin + path,
    ]);

  test('a file, a piece of it, and what a HEAD tells of it', async () => {
    expect((await curl('/file')).equals(FILE)).toBe(true);
    expect((await curl('/file', '-r', '100-199')).equals(FILE.subarray(100, 200))).toBe(true);
    const told = [
      '-w',
      '\n%{http_code} %header{content-length} %header{content-range} %header{etag} %header{accept-ranges}',
    ];
    expect((await curl('/file', ...told, '-I', '-o', '/dev/null')).toString()).toContain(
      `200 ${FILE.length}  ${ETAG} bytes`,
    );
    await curl('/file', ...told, '-r', '9999999-9999999');
    await curl('/file', ...told, '-H', `If-None-Match: ${ETAG}`);
    expect((await curl('/moved', '-L')).equals(FILE)).toBe(true);
  });

  test('a body of a megabyte, which curl announces first', async () => {
    const body = join(folder.path, 'body');
    writeFileSync(body, FILE.subarray(0, 1_500_000));
    const out = await curl('/echo', '--data-binary', `@${body}`);
    expect(out.equals(FILE.subarray(0, 1_500_000))).toBe(true);
  });

  test('another host has the program’s own check of its certificate', async () => {
    const other = await api.inRun(['curl', '-sS', `${api.outside}/`, `${api.origin}/moved`]);
    expect(other.out.toString()).toBe('outside: undefined');
    expect(await api.inRun(['curl', '-sS', `${api.origin}/moved`, `${api.impostor}/`])).toMatchObject({
      code: 60,
    });
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
  const given = (authorization?: string): readonly string[] =>
    authorization === undefined ? [] : [authorization];

  test('urllib', async () => {
    const out = await everyWay((origin, authorization) => [
      ...(['python3', '-c', URLLIB, `${origin}/file`] as const),
      ...given(authorization),
    ]);
    expect(out.equals(FILE)).toBe(true);
  });

  test('requests', async () => {
    const python = await pythonOfPrograms();
    const out = await everyWay((origin, authorization) => [
      ...([python, '-c', REQUESTS, `${origin}/moved`] as const),
      ...given(authorization),
    ]);
    expect(out.equals(FILE)).toBe(true);
    const twice = REQUESTS + '\nrequests.get(sys.argv[2])';
    expect(await api.inRun([python, '-c', twice, `${api.origin}/moved`, `${api.impostor}/`])).toMatchObject({
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
  const out = await everyWay((origin, authorization) => [
    ...([process.execPath, '--input-type=module', '-e', FETCH, `${origin}/file`] as const),
    ...(authorization === undefined ? [] : [authorization]),
  ]);
  expect(out.equals(FILE)).toBe(true);
});
