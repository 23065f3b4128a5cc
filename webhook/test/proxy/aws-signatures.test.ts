/** Proxies that sign for AWS (PROTOCOL.md section 5.9): what reaches the upstream, and what is refused. */
import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { type VerifiedSignature, verifySignature } from '@svault/test-kit/aws-verifier';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { ACCESS_KEY, startFakeSts } from '../support/fake-sts.ts';
import {
  PROXY,
  type ProxyAnswer,
  type ProxyCall,
  callProxy,
  injections,
  putProxy,
} from '../support/proxy-calls.ts';
import { type Upstream, type UpstreamRequest, startUpstream } from '../support/upstream.ts';

const KEYS = {
  AccessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  SecretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const SESSION_TOKEN = 'IQoJb3JpZ2luX2VjEXAMPLETOKEN+/0123456789==';
const OK: RequestListener = (_req, res) => void res.end('ok');
const EMPTY_HASH = createHash('sha256').digest('hex');

let webhook: BoundWebhook;
let upstream: Upstream;
let answer: RequestListener;
beforeAll(async () => {
  upstream = await startUpstream((req, res) => answer(req, res));
  webhook = await boundWebhook({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});
beforeEach(async () => {
  answer = OK;
  await store(KEYS);
  await point();
});

async function store(keys: unknown, more: object = {}): Promise<void> {
  const value = typeof keys === 'string' ? keys : JSON.stringify(keys);
  const body = { tokenType: 'RawCredential', value, allowedHosts: [upstream.url], ...more };
  expect((await webhook.store('api', body)).status).toBe(200);
}
const point = (more: Parameters<typeof putProxy>[2] = {}, path = ''): Promise<void> =>
  putProxy(webhook, `${upstream.url}${path}`, {
    kind: 'http',
    headerTemplates: {},
    signing: { type: 'aws_sigv4', region: 'eu-central-1', service: 's3' },
    ...more,
  });
const call = (more: ProxyCall): Promise<ProxyAnswer> =>
  callProxy(webhook, { method: 'GET', target: '', ...more });
/** The one upstream request of this call, and its signature. */
async function reached(
  more: ProxyCall,
  secret = KEYS.SecretAccessKey,
): Promise<{ readonly request: UpstreamRequest; readonly signature: VerifiedSignature }> {
  const before = upstream.requests.length;
  expect((await call(more)).status).toBe(200);
  const [request, ...others] = upstream.requests.slice(before);
  expect(others).toEqual([]);
  return { request: request!, signature: verifySignature(request!, secret) };
}
/** Status, code and cause of a call that is refused before the upstream is called. */
async function refused(more: ProxyCall): Promise<readonly unknown[]> {
  const before = upstream.connections();
  const { status, headers, json } = await call(more);
  expect(headers['sv-proxy-origin']).toBe('webhook');
  expect(upstream.connections()).toBe(before);
  return [status, json.code, json.cause];
}

describe('a signature', () => {
  test.each<[string, ProxyCall]>([
    ['a list of buckets', {}],
    ['a key with encoded characters and a double slash', { target: '/bucket/a%20b%2Bc//d%28%29~.txt' }],
    ['a query parameter without a value', { target: '/bucket?acl' }],
    [
      'repeated and unsorted names',
      { target: '/bucket?prefix=b%2Fc&prefix=a%20b&list-type=2&A=%E2%82%AC&constructor=1' },
    ],
    ['a body', { method: 'PUT', target: '/bucket/key', body: 'content', contentType: 'text/plain' }],
    ['a body of zeros', { method: 'PUT', target: '/bucket/key', body: new Uint8Array(100_000) }],
    ['HEAD', { method: 'HEAD', target: '/bucket/key' }],
    ['DELETE', { method: 'DELETE', target: '/bucket/key?versionId=1' }],
    [
      'headers of the agent',
      { target: '/b/k', covered: { range: 'bytes=0-9', 'x-amz-meta-note': 'a  b', 'if-none-match': '"x"' } },
    ],
  ])('verifies for %s', async (_what, more) => {
    const { request, signature } = await reached(more);
    expect(signature).toMatchObject({
      holds: true,
      accessKeyId: KEYS.AccessKeyId,
      region: 'eu-central-1',
      service: 's3',
    });
    expect(request.headers.host).toBe(upstream.host);
    const sent = Object.keys({ ...more.covered }).concat('host', 'x-amz-date', 'x-amz-content-sha256');
    expect(signature.signedHeaders).toEqual(expect.arrayContaining(sent));
  });

  test('encodes the path once more for services other than S3, and covers the path of the upstream', async () => {
    await point({ signing: { type: 'aws_sigv4', region: 'us-east-1', service: 'bedrock' } }, '/base/');
    const { request, signature } = await reached({ target: '/model/a.claude%3Av2/invoke' });
    expect(request.url).toBe('/base/model/a.claude%3Av2/invoke');
    expect(signature).toMatchObject({ holds: true, region: 'us-east-1', service: 'bedrock' });
  });

  test('uses the webhook’s clock and replaces every part of the agent’s own signature', async () => {
    const { request, signature } = await reached({
      target: '/bucket',
      covered: {
        'x-amz-date': '20010101T000000Z',
        date: 'Mon, 01 Jan 2001 00:00:00 GMT',
        'x-amz-security-token': 'dummy',
        'x-amz-s3session-token': 'dummy',
        'x-amz-region-set': '*',
        'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
      },
    });
    const now = new Date(webhook.clock.now()).toISOString();
    expect(signature.holds).toBe(true);
    expect(signature.date).toBe(now.replaceAll(/[-:]|\.\d+/g, ''));
    expect(request.headers['x-amz-content-sha256']).toBe(EMPTY_HASH);
    for (const name of ['date', 'x-amz-security-token', 'x-amz-s3session-token', 'x-amz-region-set'])
      expect(request.headers).not.toHaveProperty(name);
    expect(JSON.stringify(request.headers)).not.toContain(KEYS.SecretAccessKey);
  });

  test('includes the session token of temporary keys', async () => {
    await store({ Version: 1, ...KEYS, SessionToken: SESSION_TOKEN, Expiration: '2027-01-01T00:00:00Z' });
    const { request, signature } = await reached({ target: '/bucket' });
    expect(request.headers['x-amz-security-token']).toBe(SESSION_TOKEN);
    expect(signature).toMatchObject({ holds: true });
    expect(signature.signedHeaders).toContain('x-amz-security-token');
  });

  test('is logged with its scope and the name of its header, without any part of the key', async () => {
    await reached({ target: '/bucket/private' });
    const [used] = await injections(webhook, 'api');
    expect(used).toMatchObject({
      outcome: 'success',
      proxyId: PROXY,
      detail: { headers: ['authorization'], signed: { region: 'eu-central-1', service: 's3' } },
    });
    expect(JSON.stringify(used)).not.toMatch(/private|AKIA|wJalr/);
  });

  test('uses keys that STS mints for the caller', async () => {
    const sts = await startFakeSts({ now: () => Date.now() });
    const own = await boundWebhook({
      env: { SV_EGRESS_ALLOW: '127.0.0.1/32', SV_AWS_STS_ENDPOINT: sts.url },
    });
    try {
      const minter = { type: 'aws-sts', ...ACCESS_KEY };
      await own.store('api', { tokenType: 'RawCredential', minter, allowedHosts: [upstream.url] });
      await putProxy(own, upstream.url, {
        kind: 'http',
        headerTemplates: {},
        signing: { type: 'aws_sigv4', region: 'us-east-1', service: 'sqs' },
      });
      expect((await callProxy(own, { method: 'POST', target: '/', body: '{}' })).status).toBe(200);
      const request = upstream.requests.at(-1)!;
      expect(verifySignature(request, sts.issued.secretAccessKey)).toMatchObject({
        holds: true,
        accessKeyId: sts.issued.accessKeyId,
        service: 'sqs',
      });
      expect(request.headers['x-amz-security-token']).toBe(sts.issued.sessionToken);
    } finally {
      await own.remove();
      await sts.stop();
    }
  });
});

describe('a body in aws-chunked', () => {
  const SIGNED = ';chunk-signature=' + 'ab'.repeat(32);
  const streamed = (body: string, more: Readonly<Record<string, string>> = {}): ProxyCall => ({
    method: 'PUT',
    target: '/bucket/key',
    body,
    covered: {
      'content-encoding': 'aws-chunked',
      'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      'x-amz-decoded-content-length': '11',
      ...more,
    },
  });
  const TRAILER = { 'x-amz-trailer': 'x-amz-checksum-crc32' };
  const CHUNKS = '6\r\nhello \r\n5\r\nworld\r\n';

  test.each<[string, ProxyCall]>([
    ['a trailer', streamed(`${CHUNKS}0\r\nx-amz-checksum-crc32:DUoRhQ==\r\n\r\n`, TRAILER)],
    ['a trailer without an empty line', streamed(`${CHUNKS}0\r\nx-amz-checksum-crc32:DUoRhQ==\r\n`, TRAILER)],
    ['no trailer', streamed(`${CHUNKS}0\r\n\r\n`)],
    [
      'signed chunks',
      streamed(`B${SIGNED}\r\nhello world\r\n0${SIGNED}\r\n\r\n`, {
        'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
      }),
    ],
    [
      'signed chunks and a signed trailer',
      streamed(
        `b${SIGNED}\r\nhello world\r\n0${SIGNED}\r\nx-amz-checksum-crc32:DUoRhQ==\n\r\nx-amz-trailer-signature:${'ab'.repeat(32)}\r\n\r\n`,
        { ...TRAILER, 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER' },
      ),
    ],
  ])('is sent decoded and signed with its hash: %s', async (what, more) => {
    const { request, signature } = await reached(more);
    expect(request.body.toString()).toBe('hello world');
    expect(request.headers['content-length']).toBe('11');
    expect(request.headers['x-amz-checksum-crc32']).toBe(
      what.includes('no trailer') || what === 'signed chunks' ? undefined : 'DUoRhQ==',
    );
    for (const name of [
      'content-encoding',
      'x-amz-decoded-content-length',
      'x-amz-trailer',
      'transfer-encoding',
    ])
      expect(request.headers).not.toHaveProperty(name);
    expect(signature.holds).toBe(true);
  });

  test('keeps its other content coding', async () => {
    const more = streamed(`${CHUNKS}0\r\n\r\n`, { 'content-encoding': 'aws-chunked, gzip' });
    const { request } = await reached(more);
    expect(request.headers['content-encoding']).toBe('gzip');
  });

  const END = '0\r\n\r\n';
  test.each<[string, ProxyCall]>([
    ['no bytes', streamed('')],
    ['no end', streamed(CHUNKS)],
    ['a truncated end', streamed(`${CHUNKS}0\r\n`.slice(0, -1))],
    ['a byte after its end', streamed(`${CHUNKS}${END}x`)],
    ['a negative size', streamed(`-6\r\nhello \r\n5\r\nworld\r\n${END}`)],
    ['a size beyond its length', streamed(`ffffffff\r\nhello world\r\n${END}`)],
    ['a chunk longer than its size', streamed(`5\r\nhello \r\n5\r\nworld\r\n${END}`)],
    ['bare line feeds', streamed(`${CHUNKS}${END}`.replaceAll('\r', ''))],
    ['an unknown chunk extension', streamed(`b;x=y\r\nhello world\r\n${END}`)],
    ['another length than it declares', streamed(CHUNKS + END, { 'x-amz-decoded-content-length': '12' })],
    ['a declared length in hexadecimal', streamed(CHUNKS + END, { 'x-amz-decoded-content-length': '0xb' })],
    ['an announced trailer missing', streamed(CHUNKS + END, TRAILER)],
    ['a trailer that was not announced', streamed(`${CHUNKS}0\r\nx-amz-checksum-crc32:x\r\n\r\n`)],
    [
      'a trailer that is not a checksum',
      streamed(`${CHUNKS}0\r\nx-amz-acl:public-read\r\n\r\n`, { 'x-amz-trailer': 'x-amz-acl' }),
    ],
    [
      'a checksum that the headers have as well',
      streamed(`${CHUNKS}0\r\nx-amz-checksum-crc32:x\r\n\r\n`, { ...TRAILER, 'x-amz-checksum-crc32': 'y' }),
    ],
    ['an unknown STREAMING form', streamed(CHUNKS + END, { 'x-amz-content-sha256': 'STREAMING-OTHER' })],
    [
      'the form of event streams',
      streamed(CHUNKS + END, { 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-EVENTS' }),
    ],
    [
      'its coding but no STREAMING form',
      streamed(CHUNKS + END, { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }),
    ],
    [
      'too many chunks',
      streamed('1\r\nx\r\n'.repeat(20_000) + END, { 'x-amz-decoded-content-length': '20000' }),
    ],
  ])('is denied with %s', async (_what, more) => {
    expect(await refused(more)).toEqual([403, 'REQUEST_NOT_ALLOWED', 'aws_chunked']);
  });
});

describe('a request is denied whose query', () => {
  test.each([
    ['has a presigned signature', '/b/k?X-Amz-Signature=ab', 'aws_presigned'],
    ['has one parameter of a presigned URL', '/b/k?x-amz-%53ecurity-token=ab', 'aws_presigned'],
    ['has one of Signature Version 2', '/b/k?AWSAccessKeyId=a&Signature=b&Expires=1', 'aws_presigned'],
    ['has a plus sign', '/b?prefix=a+b', 'aws_query'],
    ['is not UTF-8', '/b?prefix=%ff', 'aws_query'],
    ['has a truncated escape', '/b?prefix=%4', 'aws_query'],
  ])('%s', async (_what, target, cause) => {
    expect(await refused({ target })).toEqual([403, 'REQUEST_NOT_ALLOWED', cause]);
  });
});

describe('the credential', () => {
  test('has its rules applied to the request as it is sent', async () => {
    await store(KEYS, { requests: [{ methods: ['PUT', 'GET'], paths: ['/bucket/**'] }] });
    const chunked = {
      'content-encoding': 'aws-chunked',
      'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      'x-amz-decoded-content-length': '2',
    };
    const body = '2\r\nok\r\n0\r\n\r\n';
    expect(
      (await reached({ method: 'PUT', target: '/bucket/k', body, covered: chunked })).signature.holds,
    ).toBe(true);
    expect(await refused({ target: '/other/k' })).toEqual([403, 'REQUEST_NOT_ALLOWED', 'rule']);
    const copy = { covered: { 'x-amz-copy-source': '/other/k' } };
    expect(await refused({ method: 'PUT', target: '/bucket/k', ...copy })).toEqual([
      403,
      'REQUEST_NOT_ALLOWED',
      'path_override',
    ]);
    expect(await refused({ method: 'DELETE', target: '/bucket/k' })).toEqual([
      403,
      'REQUEST_NOT_ALLOWED',
      'rule',
    ]);
  });

  test('is used for its allowed hosts and headers only', async () => {
    await store(KEYS, { allowedHosts: ['s3.amazonaws.com'] });
    expect(await refused({})).toEqual([403, 'DESTINATION_NOT_ALLOWED', 'host']);
    await store(KEYS, { allowedHeaders: ['x-api-key'] });
    expect(await refused({})).toEqual([403, 'DESTINATION_NOT_ALLOWED', 'header']);
  });

  test.each([
    ['no JSON', 'AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI'],
    ['truncated JSON', '{"AccessKeyId":"AKIAIOSFODNN7EXAMPLE",'],
    ['no secret', { AccessKeyId: KEYS.AccessKeyId, Padding: 'wJalrXUtnFEMI' }],
    ['an id with a slash', { ...KEYS, AccessKeyId: 'AKIA/x' }],
    ['a secret that is not a string', { ...KEYS, SecretAccessKey: 12 }],
    ['a session token with a line feed', { ...KEYS, SessionToken: 'abc\r\nx-evil: 1' }],
  ])('is not used to sign if it has %s', async (_what, keys) => {
    await store(keys);
    expect(await refused({})).toEqual([422, 'NOT_INJECTABLE', undefined]);
  });

  test('may be short only with allowShortSecret', async () => {
    const short = { ...KEYS, SecretAccessKey: 'secret' };
    await store(short);
    expect(await refused({})).toEqual([422, 'NOT_INJECTABLE', undefined]);
    await store({ ...KEYS, SessionToken: '123456' });
    expect(await refused({})).toEqual([422, 'NOT_INJECTABLE', undefined]);
    await store(short, { allowShortSecret: true });
    expect((await reached({}, 'secret')).signature.holds).toBe(true);
  });

  test('is put into no template if it is an access key of AWS', async () => {
    await point({ signing: undefined, headerTemplates: { authorization: 'Bearer ${TOKEN}' } });
    expect(await refused({})).toEqual([422, 'NOT_INJECTABLE', undefined]);
  });
});

test('an answer loses the headers that repeat the session token or the secret, and keeps the others', async () => {
  await store({ ...KEYS, SessionToken: SESSION_TOKEN });
  answer = (_req, res) => {
    res.setHeader('x-echo', `token ${SESSION_TOKEN}`);
    res.setHeader('x-encoded', encodeURIComponent(SESSION_TOKEN));
    res.setHeader('x-secret', KEYS.SecretAccessKey);
    res.setHeader('x-amz-request-id', 'EXAMPLE');
    res.setHeader('etag', '"abc"');
    res.statusCode = 403;
    res.end('<Error><Code>RequestTimeTooSkewed</Code></Error>');
  };
  const { status, headers, body } = await call({ target: '/bucket' });
  expect([status, body.toString()]).toEqual([403, '<Error><Code>RequestTimeTooSkewed</Code></Error>']);
  expect(headers).toMatchObject({
    'x-amz-request-id': 'EXAMPLE',
    etag: '"abc"',
    'sv-proxy-origin': 'upstream',
  });
  for (const name of ['x-echo', 'x-encoded', 'x-secret']) expect(headers).not.toHaveProperty(name);
});

describe('a configuration', () => {
  const put = async (more: object, upstreamUrl = 'https://example.com') =>
    webhook.storage({
      op: 'proxies.put',
      proxyId: 'prx_BBBBBBBBBBBBBBBBBBBBBB',
      serviceName: 'api',
      headerTemplates: {},
      kind: 'http',
      upstreamUrl,
      ...more,
    });

  test('is returned with its signing as it was put, and without it if there was none', async () => {
    const signing = { type: 'aws_sigv4', region: 'eu-west-1', service: 'sqs' };
    expect((await put({ signing })).json).toMatchObject({ signing });
    const implied = { type: 'aws_sigv4' };
    expect((await put({ signing: implied }, 'https://sqs.eu-west-1.amazonaws.com')).json.signing).toEqual(
      implied,
    );
    expect((await put({})).json).not.toHaveProperty('signing');
  });

  test.each<[string, object]>([
    ['another type', { signing: { type: 'aws_sigv4a', region: 'r', service: 's' } }],
    ['no service, and a host that implies none', { signing: { type: 'aws_sigv4', region: 'eu-west-1' } }],
    ['no region, and a host that implies none', { signing: { type: 'aws_sigv4', service: 's3' } }],
    ['a region with a slash', { signing: { type: 'aws_sigv4', region: 'a/b', service: 's3' } }],
    ['the kind of MCP', { signing: { type: 'aws_sigv4', region: 'r', service: 's' }, kind: undefined }],
    [
      'a marker in a header',
      {
        signing: { type: 'aws_sigv4', region: 'r', service: 's' },
        headerTemplates: { 'x-api-key': '${TOKEN}' },
      },
    ],
    [
      'a marker in a query',
      { signing: { type: 'aws_sigv4', region: 'r', service: 's' }, queryTemplates: { key: '${BASIC:u}' } },
    ],
  ])('is refused with %s', async (_what, more) => {
    expect(await put(more)).toMatchObject({ status: 400 });
  });
});
