/** Nothing of a stranger's body is read where the head alone says that it is one's. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { type Socket, connect } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { toBase64, sha256, utf8 } from '@svault/shared';
import { memoryInUse } from '@svault/test-kit/memory-in-use';
import { type RawAnswer, rawRequest } from '@svault/test-kit/raw-http';
import {
  type WebhookFixture,
  type ServiceSide,
  fixtureOfTest,
  storePlain,
  storeTicket,
} from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
let side: ServiceSide;
beforeEach(async () => {
  fixture = await fixtureOfTest();
});
const bind = async (): Promise<void> => {
  side = await fixture.bind();
};

const KIB = 1024;
const MIB = 1024 * KIB;
const SIGNED = [
  '/v1/health',
  '/v1/storage',
  '/v1/proxy',
  '/v1/refresh',
  '/v1/refresh-notify',
  '/v1/exchange',
];
const stranger = { id: 'bind', secret: utf8('00000000-0000-4000-8000-000000000000') };

const lines = (fields: Readonly<Record<string, string>>): string[] =>
  Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
const head = (path: string, ...fields: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, 'host: hook.example', ...fields, '', ''].join('\r\n');
const told = ({ status, body }: RawAnswer): unknown[] => [
  status,
  (JSON.parse(body) as { code: unknown }).code,
];
/** A head that declares a body, and nothing behind it. */
const headAlone = async (path: string, fields: readonly string[], length = 100): Promise<RawAnswer> =>
  rawRequest(fixture.webhook.url, [head(path, ...fields, `content-length: ${length}`)]);

describe('a request that is rejected by its head', () => {
  beforeEach(bind);

  it('to a signed endpoint is answered 401 before a byte of its body, whatever is wrong', async () => {
    for (const path of SIGNED) {
      const signed = (key: typeof side.key, nowMs = fixture.clock.now()): readonly string[] =>
        lines(fixture.sign({ path, body: {}, key, nowMs }));
      const wrongMac = signed({ id: side.key.id, secret: new Uint8Array(32) });
      const unknown = signed({ id: 'unknown', secret: side.key.secret });
      const late = signed(side.key, fixture.clock.now() - 200_000);
      for (const fields of [wrongMac, unknown, late, ['content-type: application/json']])
        expect([path, ...told(await headAlone(path, fields))]).toEqual([path, 401, 'SIGNATURE_INVALID']);
    }
  });

  it('to /v1/store is answered 401 before a byte of its body, for a used ticket too', async () => {
    const ticket = storeTicket(fixture, side);
    expect((await storePlain(fixture, ticket)).status).toBe(200);
    for (const bearer of [ticket, `${ticket}x`, 'none']) {
      const fields = [`authorization: Bearer ${bearer}`, 'content-type: application/json'];
      expect(told(await headAlone('/v1/store', fields))).toEqual([401, 'TICKET_INVALID']);
    }
    // Size and coding are looked at before the ticket is.
    const unused = storeTicket(fixture, side);
    const fields = [`authorization: Bearer ${unused}`, 'content-type: application/json'];
    expect(told(await headAlone('/v1/store', fields, MIB + 1))).toEqual([413, 'TOO_LARGE']);
    const coded = await headAlone('/v1/store', [...fields, 'content-encoding: gzip']);
    expect(told(coded)).toEqual([400, 'INVALID_REQUEST']);
    expect((await storePlain(fixture, unused)).status).toBe(200);
  });

  it('to /bind is answered 403 before a byte of its body once the webhook is bound', async () => {
    const form = ['content-type: application/x-www-form-urlencoded'];
    expect(told(await headAlone('/bind', form))).toEqual([403, 'SETUP_REQUIRED']);
    const asPage = await headAlone('/bind', [...form, 'accept: text/html']);
    expect([asPage.status, asPage.body.includes('SETUP_REQUIRED')]).toEqual([403, true]);
  });

  it('is never asked for a body that waits for 100 Continue', async () => {
    const path = '/v1/storage';
    const expectation = 'expect: 100-continue';
    const wrong = lines(
      fixture.sign({ path, body: {}, key: { id: side.key.id, secret: new Uint8Array(32) } }),
    );
    const refused = await headAlone(path, [...wrong, expectation]);
    expect(refused.text).toMatch(/^HTTP\/1\.1 401 /);
    const tooLarge = await headAlone(path, [expectation], 2 * MIB);
    expect(tooLarge.text).toMatch(/^HTTP\/1\.1 413 /);

    const body = { op: 'tokens.list' };
    const right = { ...fixture.sign({ path, body, key: side.key }), expect: '100-continue' };
    const { hostname, port } = new URL(fixture.webhook.url);
    const text = JSON.stringify(body);
    const headers = { ...right, 'content-length': text.length };
    const request = httpRequest({ hostname, port, path, method: 'POST', headers });
    request.flushHeaders();
    await once(request, 'continue');
    request.end(text);
    const [answer] = (await once(request, 'response')) as [{ statusCode: number; resume(): void }];
    answer.resume();
    expect(answer.statusCode).toBe(200);
  });

  it('is answered without buffering its body, however many clients send half of one', async () => {
    const wrong = lines(
      fixture.sign({ path: '/v1/storage', body: {}, key: { id: side.key.id, secret: new Uint8Array(32) } }),
    );
    const half = Buffer.alloc(512 * KIB, 0x20);
    const before = memoryInUse();
    const answers = await Promise.all(
      Array.from({ length: 600 }, () =>
        rawRequest(fixture.webhook.url, [head('/v1/storage', ...wrong, `content-length: ${MIB}`), half]),
      ),
    );
    expect(answers.filter(({ status }) => status !== 401)).toEqual([]);
    expect(memoryInUse() - before).toBeLessThan(64 * MIB);
  });
});

describe('the exchange', () => {
  const digest = `content-digest: sha-256=:${toBase64(sha256(utf8('x')))}:`;
  const bindHead = (): readonly string[] =>
    lines(fixture.sign({ path: '/v1/exchange', body: {}, key: stranger })).filter(
      (line) => !line.startsWith('content-digest'),
    );

  it('reads no body without a pending code, and counts the rejected requests', async () => {
    const ask = () => headAlone('/v1/exchange', [...bindHead(), digest]);
    for (let wrong = 0; wrong < 30; wrong += 1) expect(told(await ask())).toEqual([401, 'SIGNATURE_INVALID']);
    expect(told(await ask())).toEqual([429, 'RATE_LIMITED']);
  });

  it('reads no body 10 minutes after its last code', async () => {
    await bind();
    fixture.clock.advance(10 * 60_000);
    expect(told(await headAlone('/v1/exchange', [...bindHead(), digest]))).toEqual([
      401,
      'SIGNATURE_INVALID',
    ]);
  });

  it('and the rotation accept a body of 1 KiB and reject one byte more', async () => {
    await bind();
    const sized = (bytes: number): object => ({ op: '', x: 'x'.repeat(bytes - '{"op":"","x":""}'.length) });
    const rotate = (bytes: number) =>
      fixture.sendSigned({ path: '/v1/exchange', body: sized(bytes), key: side.key });
    expect((await rotate(KIB)).json.code).toBe('INVALID_REQUEST');
    expect((await rotate(KIB + 1)).json.code).toBe('TOO_LARGE');
    const fields = [...bindHead(), digest, 'transfer-encoding: chunked'];
    const chunk = `401\r\n${'x'.repeat(KIB + 1)}\r\n`;
    const answer = await rawRequest(fixture.webhook.url, [head('/v1/exchange', ...fields), chunk]);
    expect(told(answer)).toEqual([413, 'TOO_LARGE']);
  });

  it('serves its owner while 1,000 strangers leave bodies unfinished, of which it buffers a limited number', async () => {
    const { code } = await fixture.connect();
    const before = memoryInUse();
    const { port } = new URL(fixture.webhook.url);
    const text = head('/v1/exchange', ...bindHead(), digest, 'content-length: 1024') + 'x'.repeat(1000);
    const sockets: Socket[] = [];
    let refused = '';
    for (let at = 0; at < 1000; at += 1) {
      const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1');
      socket.on('error', () => undefined).on('data', (answer: string) => (refused += answer.slice(0, 12)));
      await once(socket, 'connect');
      socket.write(text);
      sockets.push(socket);
    }
    expect((await fixture.exchange(code)).status).toBe(200);
    expect(memoryInUse() - before).toBeLessThan(64 * MIB);
    expect(new Set(refused.match(/HTTP\/1.1 .../g))).toEqual(new Set(['HTTP/1.1 503']));
    for (const socket of sockets) socket.destroy();
  });
});
