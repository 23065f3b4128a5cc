import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import express, { type Response } from 'express';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FeedReader } from '../../audit/live-feed.ts';
import { type ServerSentEvent, sendEvents } from './send-events.ts';

let options: Omit<Parameters<typeof sendEvents>[2], 'mayRead'>;
let mayRead: boolean;
/** Of the last request. */
let reader: FeedReader<ServerSentEvent> | undefined;
let response: Response;
let closed: number;
let server: ReturnType<ReturnType<typeof express>['listen']>;
let url: string;

beforeEach(async () => {
  [options, mayRead, reader, closed] = [{}, true, undefined, 0];
  const app = express().get('/', (_req, res) => {
    response = res;
    const feed = (opened: FeedReader<ServerSentEvent>) => {
      reader = opened;
      return () => void closed++;
    };
    sendEvents(res, feed, { ...options, mayRead: () => Promise.resolve(mayRead) });
  });
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const event = (seq: number, more: Partial<ServerSentEvent> = {}): ServerSentEvent => ({
  seq,
  text: `id: ${seq}\ndata: {}\n\n`,
  mayEndSignIns: false,
  ...more,
});
const LARGE = 64 * 1024;
const large = (seq: number): ServerSentEvent => event(seq, { text: `data: ${'x'.repeat(LARGE)}\n\n` });

/** Opens a request and reads nothing of its answer. */
async function ask(method = 'GET'): Promise<IncomingMessage> {
  const asked = request(url, { method }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  for (const end of [asked, answer]) end.on('error', () => undefined);
  return answer;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return text;
}

test('a stream has the headers of one, says when to come again, and goes on with events', async () => {
  const answer = await ask();
  await reader!.take([event(1), event(2)]);
  reader!.onLive();
  reader!.end();
  expect(answer.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  expect(await textOf(answer)).toBe('retry: 3000\n\nid: 1\ndata: {}\n\nid: 2\ndata: {}\n\n: live\n\n');
  await vi.waitFor(() => expect(closed).toBeGreaterThan(0));
});

test('HEAD has the same headers, and opens nothing', async () => {
  const answer = await ask('HEAD');
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  expect([await textOf(answer), reader]).toEqual(['', undefined]);
});

describe('a principal who may no longer read', () => {
  test('has the stream ended at the next heartbeat', async () => {
    options = { heartbeatMs: 5 };
    const answer = await ask();
    await once(answer, 'readable');
    mayRead = false;
    expect(await textOf(answer)).toMatch(/^retry: 3000\n\n(: heartbeat\n\n)*$/);
    await vi.waitFor(() => expect(closed).toBeGreaterThan(0));
  });

  test('is not sent the event that may have ended the sign-in, nor any after it', async () => {
    const answer = await ask();
    mayRead = false;
    await reader!.take([event(1)]);
    await reader!.take([event(2, { mayEndSignIns: true })]);
    await reader!.take([event(3)]);
    expect(await textOf(answer)).toBe('retry: 3000\n\nid: 1\ndata: {}\n\n');
  });
});

describe('a client that does not read', () => {
  test('is disconnected before more than the bounded backlog and one read waits for it', async () => {
    options = { maxBacklogBytes: 4 * LARGE };
    await ask();
    let most = 0;
    let given = 0;
    for (; closed === 0 && given < 10_000; given++) {
      await reader!.take([large(given)]);
      most = Math.max(most, response.writableLength);
      await nextTurn();
    }
    expect(closed).toBeGreaterThan(0);
    expect(most).toBeLessThan(6 * LARGE);
  });

  test('and resumes is waited for, and disconnected when it takes nothing for too long', async () => {
    options = { stalledMs: 20, maxBacklogBytes: Number.MAX_SAFE_INTEGER };
    await ask();
    for (let given = 0; closed === 0 && given < 10_000; given++) {
      await reader!.take([large(given)]);
      await reader!.drained();
    }
    expect(closed).toBeGreaterThan(0);
    expect(response.writableFinished).toBe(false);
  });

  test('is disconnected at the heartbeat after the end of its stream', async () => {
    options = { heartbeatMs: 5, maxBacklogBytes: Number.MAX_SAFE_INTEGER };
    await ask();
    // More than both systems' buffers take.
    for (; response.writableLength < 4 * LARGE; await nextTurn()) await reader!.take([large(1)]);
    reader!.end();
    await vi.waitFor(() => expect(response.destroyed).toBe(true));
    expect(response.writableFinished).toBe(false);
  });
});

test('a client that goes closes the stream', async () => {
  const answer = await ask();
  answer.destroy();
  await vi.waitFor(() => expect(closed).toBeGreaterThan(0));
  await reader!.drained();
});
