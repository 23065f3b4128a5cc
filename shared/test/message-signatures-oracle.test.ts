import { createHmac, timingSafeEqual } from 'node:crypto';
import fc from 'fast-check';
import { httpbis } from 'http-message-signatures';
import { describe, expect, it } from 'vitest';
import {
  type SignedMessage,
  parseSignature,
  signRequest,
  utf8,
  signatureBase,
  verifySignature,
  contentDigest,
} from '@svault/shared';
import { requestVectors } from './vector-files.ts';

/**
 * `http-message-signatures` as an independent implementation of RFC 9421, both ways. It reads the machine's clock,
 * answers null where there is no signature, and never looks at a digest; so these tests are about bases and MACs.
 */
const KEY = {
  id: 'k1',
  secret: Buffer.from('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', 'hex'),
};
const POLICY = { key: KEY.secret, skewSeconds: 30, maxLifetimeSeconds: 60 } as const;

const mac = (data: Buffer): Buffer => createHmac('sha256', KEY.secret).update(data).digest();
const oracleKey = {
  id: KEY.id,
  algs: ['hmac-sha256'],
  verify: (data: Buffer, signature: Buffer) =>
    Promise.resolve(signature.length === 32 && timingSafeEqual(mac(data), signature)),
};
const oracleVerifies = (message: { method: string; url: string; headers: Record<string, string> }) =>
  httpbis.verifyMessage({ keyLookup: () => Promise.resolve(oracleKey), tolerance: 30, all: true }, message);

const segment = fc.stringMatching(/^[A-Za-z0-9._~-]{1,12}$/).filter((text) => !/^\.{1,2}$/.test(text));
const requests = fc.record({
  host: fc.constantFrom('hook.example', 'hook.example:8443', 'a.b-c.example'),
  path: fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join('/')}`),
  body: fc.option(fc.uint8Array({ minLength: 1, maxLength: 200 }), { nil: undefined }),
  extra: fc.dictionary(
    fc.stringMatching(/^x-[a-z0-9-]{1,10}$/),
    fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/),
    { maxKeys: 3 },
  ),
});

describe('against http-message-signatures', () => {
  it('verifies our signatures', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async ({ host, path, body, extra }) => {
        const headers = signRequest({
          method: 'POST',
          authority: host,
          path,
          headers: extra,
          ...(body !== undefined && { body }),
          key: KEY,
          nowMs: Date.now(),
        });
        expect(await oracleVerifies({ method: 'POST', url: `https://${host}${path}`, headers })).toBe(true);
        const forged = {
          ...headers,
          'signature-input': headers['signature-input']!.replace('nonce="', 'nonce="A'),
        };
        await expect(
          oracleVerifies({ method: 'POST', url: `https://${host}${path}`, headers: forged }),
        ).resolves.toBe(false);
      }),
    );
  });

  it('makes signatures that we verify', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async ({ host, path, body = new Uint8Array(0), extra }) => {
        const content =
          body.length === 0
            ? {}
            : { 'content-type': 'application/json', 'content-digest': contentDigest(body) };
        const now = Date.now();
        const signed = await httpbis.signMessage(
          {
            key: { id: KEY.id, alg: 'hmac-sha256', sign: (data) => Promise.resolve(mac(data)) },
            name: 'sv',
            fields: ['@method', '@authority', '@path', '@query', ...Object.keys({ ...content, ...extra })],
            params: ['created', 'expires', 'nonce', 'keyid', 'alg', 'tag'],
            paramValues: {
              created: new Date(now),
              expires: new Date(now + 60_000),
              nonce: 'AAECAwQFBgcICQoLDA0ODw',
              tag: 'sv-webhook-v1',
            },
          },
          { method: 'POST', url: `https://${host}${path}`, headers: { ...content, ...extra } },
        );
        const fields = Object.entries(signed.headers).map(([name, value]) => [name, String(value)] as const);
        const message: SignedMessage = {
          method: 'POST',
          authority: host,
          path,
          query: '',
          headers: fields,
          body,
        };
        verifySignature(message, parseSignature(message), { ...POLICY, nowMs: now });
      }),
    );
  });

  it('makes the same signature base of every valid vector', () => {
    for (const { request, signatureBase: base } of requestVectors.filter(
      (vector) => vector.expect === 'accept',
    )) {
      const message = { ...request, body: utf8(request.body) };
      const { covered, signatureParams } = parseSignature(message);
      const theirs = httpbis.createSignatureBase(
        { fields: covered.map((component) => `"${component}"`) },
        {
          method: request.method,
          url: `https://${request.authority}${request.path}`,
          headers: Object.fromEntries(request.headers),
        },
      );
      const theirBase = `${httpbis.formatSignatureBase(theirs)}\n"@signature-params": ${signatureParams}`;
      expect(theirBase).toBe(base);
      expect(signatureBase(message, covered, signatureParams)).toBe(base);
    }
  });
});
