/** Redirects that the webhook follows itself, without the credential (PROTOCOL.md HTP-30 to HTP-34). */
import { gzipSync } from 'node:zlib';
import type { IncomingMessage, RequestListener } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { type ProxyAnswer, type ProxyCall, callProxy, injections, putProxy } from '../support/proxy-calls.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const TOKEN = 'tkn_of_redirects/+=0123456789';
const REDIRECT = [502, 'UPSTREAM_ERROR', 'redirect'];

let webhook: BoundWebhook;
let api: Upstream;
let files: Upstream;
/** Not in `SV_EGRESS_ALLOW`, so the webhook may not call it. */
let internal: Upstream;
let answer: RequestListener;
let answerOfFiles: RequestListener;
beforeAll(async () => {
  api = await startUpstream((req, res) => answer(req, res));
  files = await startUpstream((req, res) => answerOfFiles(req, res));
  internal = await startUpstream(undefined, '127.0.0.2');
  webhook = await boundWebhook({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
  const body = { tokenType: 'PlainText', value: TOKEN, allowedHosts: [api.url], allowedQuery: ['key'] };
  expect((await webhook.store('api', body)).status).toBe(200);
});
afterAll(async () => {
  await webhook.remove();
  for (const upstream of [api, files, internal]) await upstream.close();
});
beforeEach(async () => {
  redirectsTo(`${files.url}/file`);
  answerOfFiles = (_req, res) => void res.writeHead(200, { etag: '"e"' }).end('the file');
  await point();
});

const point = (more: Parameters<typeof putProxy>[2] = {}): Promise<void> =>
  putProxy(webhook, `${api.url}/v1`, { kind: 'http', redirects: 'follow-without-credential', ...more });
const redirectsTo = (location: string, status = 302): void => {
  answer = (_req, res) => void res.writeHead(status, { location }).end('moved');
};
const call = (more: ProxyCall = {}): Promise<ProxyAnswer> =>
  callProxy(webhook, { method: 'GET', target: '/download', ...more });
const failed = async (more: ProxyCall = {}): Promise<readonly unknown[]> => {
  const { status, json } = await call(more);
  return [status, json?.code, json?.cause];
};
const headersOf = ({ requests }: Upstream): IncomingMessage['headers'] | undefined =>
  requests.at(-1)?.headers;

describe('a redirect to another origin', () => {
  test.each([300, 301, 302, 303, 307, 308])(
    'by %i is followed, and the final answer is returned',
    async (status) => {
      redirectsTo(`${files.url}/file?sig='a'&b=%2F`, status);
      const { status: received, headers, body } = await call();
      expect([received, body.toString(), headers['etag'], headers['sv-proxy-origin']]).toEqual([
        200,
        'the file',
        '"e"',
        'upstream',
      ]);
      expect(files.requests.at(-1)).toMatchObject({ method: 'GET', body: Buffer.alloc(0) });
    },
  );

  test('is followed without the agent’s fields, templates or credential', async () => {
    await call({ covered: { accept: 'a/b', range: 'bytes=0-1', 'x-key': 'of the agent' } });
    expect(headersOf(files)).toEqual({
      host: files.host,
      connection: 'keep-alive',
      'accept-encoding': 'identity',
    });
    expect(headersOf(api)).toMatchObject({ authorization: `Bearer ${TOKEN}`, range: 'bytes=0-1' });
  });

  test('is followed with HEAD for HEAD', async () => {
    answerOfFiles = (_req, res) => void res.writeHead(200, { 'content-length': '77' }).end();
    const { status, headers, body } = await call({ method: 'HEAD' });
    expect([status, headers['sv-content-length'], body.byteLength]).toEqual([200, '77', 0]);
    expect(files.requests.at(-1)?.method).toBe('HEAD');
  });

  test.each([
    ['POST', {}],
    ['PUT', {}],
    ['DELETE', {}],
    ['GET', { body: '{}' }],
  ])('is returned to %s with %j', async (method, more) => {
    const before = files.requests.length;
    const { status, headers } = await call({ method, ...more });
    expect([status, headers.location]).toEqual([302, `${files.url}/file`]);
    expect(files.requests).toHaveLength(before);
  });

  test('is returned unless the configuration says otherwise', async () => {
    await putProxy(webhook, `${api.url}/v1`, { kind: 'http' });
    const { status, headers } = await call();
    expect([status, headers.location]).toEqual([302, `${files.url}/file`]);
  });

  test('may be relative after the first hop, and take three hops', async () => {
    answerOfFiles = (req, res) => {
      const next = { '/file': 'b/c?d=e', '/b/c?d=e': `//${files.host}/last` }[req.url ?? ''];
      if (next === undefined) res.end(`at ${req.url ?? ''}`);
      else res.writeHead(302, { location: next }).end();
    };
    expect((await call()).body.toString()).toBe('at /last');
  });

  test('fails after three hops', async () => {
    answerOfFiles = (_req, res) => void res.writeHead(302, { location: '/file' }).end();
    const before = files.requests.length;
    expect(await failed()).toEqual(REDIRECT);
    expect(files.requests.length - before).toBe(3);
    const [entry] = await injections(webhook);
    expect(entry).toMatchObject({ outcome: 'error', detail: { code: 'UPSTREAM_ERROR' } });
  });

  test('back to the first origin is followed without the credential', async () => {
    answer = (req, res) => {
      if (req.url === '/public') res.end(`with ${String(req.headers.authorization)}`);
      else res.writeHead(302, { location: `${files.url}/file` }).end();
    };
    answerOfFiles = (_req, res) => void res.writeHead(302, { location: `${api.url}/public` }).end();
    expect((await call()).body.toString()).toBe('with undefined');
  });

  test('with a long URL is followed', async () => {
    redirectsTo(`${files.url}/file?X-Amz-Signature=${'a'.repeat(7_000)}`);
    expect((await call()).body.toString()).toBe('the file');
  });

  test('returns no URL fields, which a client would resolve against the URL that it requested', async () => {
    answerOfFiles = (_req, res) =>
      void res
        .writeHead(200, { 'content-location': '/file', link: '</b>; rel=next', location: '/c', etag: '"e"' })
        .end();
    const { headers } = await call();
    expect([headers['content-location'], headers['link'], headers['location'], headers['etag']]).toEqual([
      undefined,
      undefined,
      undefined,
      '"e"',
    ]);
  });

  test('returns the content still encoded', async () => {
    const zipped = gzipSync('the file');
    answerOfFiles = (_req, res) => void res.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped);
    expect((await call()).body).toEqual(zipped);
  });
});

describe('a redirect is not followed', () => {
  test.each([
    ['to an internal address', () => `${internal.url}/latest/meta-data`],
    ['to an internal address in another notation', () => internal.url.replace('127.0.0.2', '0x7f000002')],
    ['with a user and password', () => files.url.replace('//', '//user:password@')],
    ['with a user', () => files.url.replace('//', '//user@')],
    ['to another scheme', () => 'ftp://files.test/file'],
    ['to a closed port', () => 'http://127.0.0.1:1/'],
  ])('%s, and fails with the cause redirect', async (_case, location) => {
    redirectsTo(location());
    const before = [files.requests.length, internal.connections()];
    expect(await failed()).toEqual(REDIRECT);
    expect([files.requests.length, internal.connections()]).toEqual(before);
  });

  test('to an internal address on the second hop', async () => {
    answerOfFiles = (_req, res) => void res.writeHead(302, { location: internal.url }).end();
    expect(await failed()).toEqual(REDIRECT);
    expect(internal.connections()).toBe(0);
  });

  test('to an answer of 401, which is not logged as a rejected credential', async () => {
    answerOfFiles = (_req, res) => void res.writeHead(401).end();
    expect(await failed()).toEqual(REDIRECT);
    const [entry] = await injections(webhook);
    expect(entry).toMatchObject({ detail: { code: 'UPSTREAM_ERROR' } });
  });

  test.each([
    ['of the same origin', () => '/v2'],
    ['of the same origin, written out', () => `${api.url}/v2`],
    ['that is no URL', () => 'http://[/'],
  ])('to a location %s, but returned', async (_case, location) => {
    redirectsTo(location());
    const { status, headers } = await call();
    expect([status, headers.location]).toEqual([302, location()]);
  });

  test('with two locations, or none', async () => {
    const before = files.requests.length;
    answer = (_req, res) =>
      void res.writeHead(302, ['location', `${files.url}/a`, 'location', `${files.url}/b`]).end();
    expect((await call()).status).toBe(302);
    answer = (_req, res) => void res.writeHead(302).end();
    expect((await call()).status).toBe(302);
    expect(files.requests).toHaveLength(before);
  });

  test.each([
    ['its query', (token: string) => `?key=${encodeURIComponent(token)}`],
    ['its path, in base64', (token: string) => `/${Buffer.from(token).toString('base64url')}`],
  ])('with the credential in %s, and its Location is removed', async (_case, suffixOf) => {
    await point({ headerTemplates: {}, queryTemplates: { key: '${TOKEN}' } });
    redirectsTo(files.url + suffixOf(TOKEN));
    const before = files.requests.length;
    const { status, headers } = await call();
    expect([status, headers.location]).toEqual([302, undefined]);
    expect(files.requests).toHaveLength(before);
  });
});
