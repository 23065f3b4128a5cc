import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LoopbackListener, listenOnLoopback, loopbackAnswer } from './loopback-listener.ts';

const page = new URL('https://svault.example/base/login/cli?request=clr_1');
const mine = { state: 'mine', page };
let listener: LoopbackListener;
beforeEach(async () => {
  listener = await listenOnLoopback();
});
afterEach(() => listener.close());

const ask = async (url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> => {
  const [answer] = (await once(request(url, { headers }).end(), 'response')) as [IncomingMessage];
  answer.resume();
  return answer;
};

test('the address of the listener is random, and differs each time', async () => {
  const other = await listenOnLoopback();
  other.close();
  const PATH = /^http:\/\/127\.0\.0\.1:\d+(\/callback\/[\w-]{22})$/;
  const [mine, theirs] = [listener, other].map(({ redirectUri }) => PATH.exec(redirectUri)?.[1]);
  expect(mine).toBeDefined();
  expect(mine).not.toBe(theirs);
});

test('it listens on 127.0.0.1 and on no other address of this machine', async () => {
  const socket = connect(Number(new URL(listener.redirectUri).port), '127.0.0.2');
  await expect(once(socket, 'connect')).rejects.toThrow(/ECONNREFUSED|EADDRNOTAVAIL|ETIMEDOUT/);
});

test('a page of another host, whose name leads here, cannot answer, nor who does not know the path', async () => {
  const answer = listener.answer(mine, new AbortController().signal);
  const url = `${listener.redirectUri}?state=mine&code=x`;
  expect((await ask(url, { host: 'evil.example' })).statusCode).toBe(404);
  for (const path of ['/', '/callback', '/callback/other'])
    expect((await ask(new URL(`${path}?state=mine&code=forged`, url).href)).statusCode).toBe(404);
  expect((await ask(url)).statusCode).toBe(303);
  expect(await answer).toEqual({ code: 'x' });
});

test('nothing is answered before it is known to what, nor twice', async () => {
  const url = `${listener.redirectUri}?state=mine&code=x`;
  expect((await ask(url)).statusCode).toBe(404);
  const answer = listener.answer(mine, new AbortController().signal);
  const [first, second] = [await ask(url), await ask(url)];
  expect([first.statusCode, second.statusCode]).toEqual([303, 404]);
  expect(first.headers).toMatchObject({
    location: 'https://svault.example/base/login/cli?outcome=allowed',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
  expect(await answer).toEqual({ code: 'x' });
});

test('a denial leads to the page that says so', async () => {
  const answer = listener.answer(mine, new AbortController().signal);
  const { headers } = await ask(`${listener.redirectUri}?state=mine&error=access_denied`);
  expect(headers.location).toBe('https://svault.example/base/login/cli?outcome=denied');
  expect(await answer).toEqual({ denied: true });
});

const read = (query: string): unknown => loopbackAnswer(new URLSearchParams(query), 'mine');

test('a code, or that a person said no', () => {
  expect(read('state=mine&code=svc-1')).toEqual({ code: 'svc-1' });
  expect(read('state=mine&error=access_denied')).toEqual({ denied: true });
});

test.each([
  ['of another sign-in', 'state=theirs&code=x'],
  ['of none', 'code=x'],
  ['with its state twice', 'state=mine&state=theirs&code=x'],
  ['with two codes', 'state=mine&code=x&code=y'],
  ['with an empty code', 'state=mine&code='],
  ['with a code that is no such thing', 'state=mine&code=a%0Ab'],
  ['with a code longer than any', `state=mine&code=${'a'.repeat(1_025)}`],
  ['with a code and an error', 'state=mine&code=x&error=server_error'],
  ['with a code and a no', 'state=mine&code=x&error=access_denied'],
  ['with another error, which is not a person’s', 'state=mine&error=server_error'],
  ['with nothing', 'state=mine'],
])('none is what comes %s', (_how, query) => {
  expect(read(query)).toBeUndefined();
});
