import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { AWS_KEYS, type HttpProxy, awsAuthorization, httpProxyOn } from '../support/http-proxy-steps.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';

// Both hops with the reference webhook (PROTOCOL.md section 5.9), as an AWS client calls them.

let service: PairedService;
let upstream: PlainUpstream;
let api: HttpProxy;
let seen: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[];

beforeAll(async () => {
  upstream = await startPlainUpstream(async (req, res) => {
    const { method = '', url = '', headers } = req;
    seen.push({ method, url, headers, body: (await buffer(req)).toString() });
    res.end('ok');
  });
  service = await startPairedService({ logLevel: 'trace' });
  const value = JSON.stringify(AWS_KEYS);
  await storeOn(service.pair, 'aws', { tokenType: 'RawCredential', value, allowedHosts: [upstream.origin] });
  api = await httpProxyOn(
    { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin },
    {
      upstreamUrl: upstream.origin,
      serviceName: 'aws',
      upstreamAuthType: 'aws_sigv4',
      region: 'eu-central-1',
      service: 's3',
    },
  );
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});
beforeEach(() => {
  service.clock.advance(60_000);
  seen = [];
});

describe('an AWS client', () => {
  it('authenticates by its access key id, and its signature is replaced by one of the credential', async () => {
    const headers = {
      authorization: awsAuthorization(api.key),
      'x-amz-date': '20261120T120000Z',
      'content-encoding': 'aws-chunked',
      'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      'x-amz-decoded-content-length': '5',
      'x-amz-trailer': 'x-amz-checksum-crc32',
    };
    const body = '5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n';
    const answer = await api.ask('/bucket/a%20key', { method: 'PUT', headers, body });
    expect(answer).toMatchObject({ status: 200, text: 'ok' });
    expect(seen).toHaveLength(1);
    for (const request of seen) {
      expect(request).toMatchObject({ method: 'PUT', url: '/bucket/a%20key', body: 'hello' });
      expect(request.headers['authorization']).toMatch(
        /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/\d{8}\/eu-central-1\/s3\/aws4_request, SignedHeaders=/,
      );
      expect(request.headers['x-amz-checksum-crc32']).toBe('NhCmhg==');
      expect(JSON.stringify(request)).not.toContain(api.key);
    }
  });

  it.each([
    ['another key', awsAuthorization('mcp_wrong'), 403],
    ['a key of AWS', awsAuthorization('AKIAIOSFODNN7EXAMPLE'), 403],
    ['no credential', 'AWS4-HMAC-SHA256 SignedHeaders=host, Signature=ab', 401],
  ])('is denied with %s', async (_what, authorization, status) => {
    const answer = await api.ask('/bucket', { headers: { authorization } });
    expect([answer.status, seen]).toEqual([status, []]);
  });

  it('is told why a presigned address is denied', async () => {
    const headers = { authorization: awsAuthorization(api.key) };
    const { status, text } = await api.ask('/bucket/k?X-Amz-Signature=ab', { headers });
    expect([status, JSON.parse(text)]).toMatchObject([403, { code: 'REQUEST_NOT_ALLOWED' }]);
    expect(text).toContain('X-Amz-');
    expect(seen).toEqual([]);
  });
});
