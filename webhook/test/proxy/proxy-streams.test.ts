/**
 * Answers of `POST /v1/proxy` that take their time, and upstreams that mean no good. What is no HTTP answer, and what an
 * upstream does with connections, is in shared/test/egress-stream-bounds.test.ts and egress-stream-connections.test.ts.
 */
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { LogSink } from '@svault/test-kit/log-sink';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { type ProxyAnswer, callProxy, openCall, putProxy } from '../support/proxy-calls.ts';
import { type Upstream, startRawUpstream, startUpstream } from '../support/upstream.ts';

const TOKEN = 'tkn_of_streams/+=0123456789';

let webhook: BoundWebhook;
let upstream: Upstream;
let raw: Upstream;
/** How the upstreams answer in this test. */
let answer: RequestListener;
let answerRaw: (socket: Socket, head: string) => void;
const log = new LogSink();
beforeAll(async () => {
  upstream = await startUpstream((req, res) => answer(req, res));
  raw = await startRawUpstream((socket, head) => answerRaw(socket, head));
  webhook = await boundWebhook({
    env: { SV_EGRESS_ALLOW: '127.0.0.1/32' },
    logger: createLogger({ name: 'webhook', level: 'debug', format: 'json', destination: log }),
  });
  const body = { tokenType: 'PlainText', value: TOKEN, allowedHosts: [upstream.url, raw.url] };
  await webhook.store('api', body);
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
  await raw.close();
});

/** Calls the upstream, which answers so, and hands its side of the answer out. */
async function opened(
  begin: (res: ServerResponse) => void = (res) => res.writeHead(200).flushHeaders(),
  proxyId?: string,
): Promise<{ theirs: ServerResponse; ours: IncomingMessage }> {
  const asked = Promise.withResolvers<ServerResponse>();
  answer = (_req, res) => {
    begin(res);
    asked.resolve(res);
  };
  const ours = await openCall(webhook, { method: 'GET', ...(proxyId !== undefined && { proxyId }) });
  return { theirs: await asked.promise, ours };
}
/** A round trip through the same process: time for everything that is under way to go on. */
const roundTrip = (): Promise<unknown> => webhook.send('/v1/health');

describe('a slow response', () => {
  beforeAll(() => putProxy(webhook, `${upstream.url}/sse`));

  test('is not read faster than the caller reads it, however long it is', async () => {
    const { theirs, ours } = await opened();
    const piece = Buffer.alloc(64 * 1024);
    const most = 64 * 1024 * 1024;
    let written = 0;
    const pump = (): void => {
      while (written < most && !theirs.destroyed) {
        written += piece.byteLength;
        if (!theirs.write(piece)) return;
      }
    };
    theirs.on('drain', pump);
    pump();
    // Full buffers on the way take some of it; then nothing moves any more.
    for (let still = 0, before = 0; still < 20; still += 1) {
      await roundTrip();
      if (written !== before) still = 0;
      before = written;
    }
    expect(written).toBeLessThan(most);
    const [before, gone] = [written, once(theirs, 'close')];
    let taken = 0;
    for await (const chunk of ours) {
      taken += (chunk as Buffer).byteLength;
      if (taken > before) break;
    }
    expect(written).toBeGreaterThan(before);
    // The caller has left: the upstream, which would go on for ever, is told so.
    await gone;
  });

  test('is cancelled once the caller disconnects, also before its head has arrived', async () => {
    const asked = Promise.withResolvers<ServerResponse>();
    answer = (_req, res) => asked.resolve(res);
    const gone = new AbortController();
    const answered = openCall(webhook, { signal: gone.signal }).catch(() => 'gone');
    const theirs = await asked.promise;
    const closed = once(theirs, 'close');
    gone.abort();
    await closed;
    expect([theirs.writableFinished, await answered]).toEqual([false, 'gone']);
  });

  test('takes one of 256 concurrent responses of its proxy, and of no other', async () => {
    const other = 'prx_ZZZZZZZZZZZZZZZZZZZZZZ';
    await putProxy(webhook, `${upstream.url}/other`, { proxyId: other });
    const held: ServerResponse[] = [];
    answer = (_req, res) => {
      held.push(res);
      res.writeHead(200).flushHeaders();
    };
    const open: IncomingMessage[] = [];
    for (let group = 0; group < 16; group += 1)
      open.push(
        ...(await Promise.all(Array.from({ length: 16 }, () => openCall(webhook, { method: 'GET' })))),
      );
    const refused = await callProxy(webhook, { method: 'GET' });
    expect([refused.status, refused.json, refused.headers['retry-after']]).toEqual([
      429,
      { error: expect.any(String), code: 'RATE_LIMITED', retryAfter: 1, requestId: expect.any(String) },
      '1',
    ]);
    expect([refused.headers['sv-proxy-origin'], held.length]).toEqual(['webhook', 256]);
    open.push(await openCall(webhook, { method: 'GET', proxyId: other }));
    const oneEnds = new Promise((resolve) => {
      for (const ours of open) ours.resume().once('end', resolve);
    });
    held[0]?.end();
    await oneEnds;
    open.push(await openCall(webhook, { method: 'GET' }));
    expect([held.length, new Set(open.map(({ statusCode }) => statusCode))]).toEqual([258, new Set([200])]);
    for (const ours of open) ours.destroy();
  });
});

describe('a hostile upstream', () => {
  beforeAll(() => putProxy(webhook, raw.url));
  const asked = async (bytes: string): Promise<ProxyAnswer> => {
    answerRaw = (socket) => void socket.write(bytes, 'latin1');
    return callProxy(webhook);
  };
  const ok = (text: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;

  test('that closes the connection results in a 502', async () => {
    answerRaw = (socket) => void socket.destroy();
    const refused = await callProxy(webhook);
    expect([refused.status, refused.json.code, refused.headers['sv-proxy-origin']]).toEqual([
      502,
      'UPSTREAM_ERROR',
      'webhook',
    ]);
  });

  test('that answers before it reads the body has its response forwarded', async () => {
    answerRaw = (socket) => {
      socket.pause();
      socket.end(ok('early'));
    };
    const got = await callProxy(webhook, { body: new Uint8Array(8 * 1024 * 1024) });
    expect([got.status, got.body.toString()]).toEqual([200, 'early']);
  });

  test('that echoes the secret in its status line, its body or a malformed head leaves no trace in header, log or event', async () => {
    const reason = await asked(`HTTP/1.1 200 ${TOKEN}\r\ncontent-length: 0\r\n\r\n`);
    const broken = await asked(`HTTP/1.1 200 OK\r\nx-a: ${TOKEN}\r\n${TOKEN} no field ${TOKEN}\r\n\r\n`);
    const body = await asked(ok(TOKEN));
    expect([reason.status, broken.status, body.body.toString()]).toEqual([200, 502, TOKEN]);
    const entries = await webhook.storage({ op: 'audit.list' });
    const told = [...reason.rawHeaders, ...broken.rawHeaders, broken.body.toString(), ...body.rawHeaders];
    expect(tracesOf(TOKEN, Buffer.from([...told, entries.text, log.text].join('\n')))).toEqual([]);
    expect(log.text).toContain('UPSTREAM_ERROR');
  });
});
