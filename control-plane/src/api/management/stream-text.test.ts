import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorHandler } from '@svault/server-kit/error-handler';
import { silentLogger } from '@svault/server-kit/logger';
import express from 'express';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ERROR_STATUS } from '../http/errors.ts';
import { streamText } from './stream-text.ts';

/** What the next request is answered with. */
let parts: () => AsyncIterable<string>;
let stalledMs: number | undefined;
let server: ReturnType<ReturnType<typeof express>['listen']>;
let url: string;

beforeEach(async () => {
  stalledMs = undefined;
  const app = express()
    .get('/', (_req, res) => streamText(res, parts(), stalledMs))
    .use(
      errorHandler({
        statusOf: ERROR_STATUS,
        storageFailure: 'UNAVAILABLE',
        internal: 'INTERNAL',
        logger: silentLogger,
      }),
    );
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const PART = `"${'x'.repeat(64 * 1024)}",`;

/** A text without end, that says how far it was made and whether the making ended. */
function endless(): { made: number; ended: boolean; parts: () => AsyncIterable<string> } {
  const text = {
    made: 0,
    ended: false,
    parts: async function* () {
      try {
        for (yield '['; ; text.made++) yield PART;
      } finally {
        text.ended = true;
      }
    },
  };
  return text;
}

/** Opens a request and reads nothing of its answer. */
async function ask(): Promise<{ asked: ClientRequest; response: IncomingMessage }> {
  const asked = request(url).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.pause();
  // A connection that the other side breaks says so here.
  for (const end of [asked, response]) end.on('error', () => undefined);
  return { asked, response };
}

/** Waits until nothing more is made. */
async function rest(text: { readonly made: number }): Promise<number> {
  for (let before = -1; before !== text.made;) {
    before = text.made;
    for (let turn = 0; turn < 2_000; turn++) await nextTurn();
  }
  return text.made;
}

test('streamText sends the parts in order, as JSON', async () => {
  parts = async function* () {
    yield '{"a":[';
    yield '1';
    yield ',2]}';
  };
  const response = await fetch(url);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/json; charset=utf-8',
  ]);
  expect(await response.json()).toEqual({ a: [1, 2] });
});

test('streamText answers HEAD without the text', async () => {
  const text = endless();
  parts = text.parts;
  expect((await fetch(url, { method: 'HEAD' })).headers.get('content-type')).toContain('application/json');
  expect(text).toMatchObject({ made: 0, ended: true });
});

describe('a client', () => {
  test('that does not read makes the source produce no more than fits the buffers', async () => {
    const text = endless();
    parts = text.parts;
    const { response } = await ask();
    const made = await rest(text);
    expect(made).toBeGreaterThan(0);
    // The buffers of both systems together, generously; all that this program holds is a part or two.
    expect(made * PART.length).toBeLessThan(32 * 1024 * 1024);
    expect(text.ended).toBe(false);
    response.destroy();
  });

  test('that disconnects ends the source', async () => {
    const text = endless();
    parts = text.parts;
    const { response } = await ask();
    await rest(text);
    response.destroy();
    await vi.waitFor(() => expect(text.ended).toBe(true), { timeout: 20_000 });
  });

  test('that stalls is disconnected', async () => {
    const text = endless();
    parts = text.parts;
    stalledMs = 50;
    const { response } = await ask();
    await vi.waitFor(() => expect(text.ended).toBe(true), { timeout: 10_000 });
    response.destroy();
  });
});

describe('a failure', () => {
  test('before the first part has an error response like any other', async () => {
    parts = async function* () {
      await Promise.reject(new Error('no database'));
      yield '';
    };
    const response = await fetch(url);
    expect([response.status, await response.json()]).toMatchObject([500, { code: 'INTERNAL' }]);
  });

  test('in the middle breaks the connection, so that a client cannot take the beginning for the whole', async () => {
    parts = async function* () {
      yield '[1';
      await nextTurn();
      throw new Error('no database');
    };
    const response = await fetch(url);
    await expect(response.text()).rejects.toThrow();
  });
});
