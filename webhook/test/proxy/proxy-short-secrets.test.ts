/**
 * Secrets that guesses find out: what a proxy does with them, and what an agent learns by it (PROTOCOL.md section 5.5).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { type ProxyCall, callProxy, injections, putProxy } from '../support/proxy-calls.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const SEED = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
/** Of the million: as many as need 100 calls, the right one among them. */
const CODES = 150_000;
/** So many as one header holds. */
const AT_ONCE = 1_500;

let webhook: BoundWebhook;
let upstream: Upstream;
/** Where the upstream repeats the agent's `user-agent`. */
let echoIn = 'x-echo';
beforeAll(async () => {
  upstream = await startUpstream((req, res) => {
    res.writeHead(200, { [echoIn]: req.headers['user-agent'] ?? 'nobody' }).end('{}');
  });
  webhook = await boundWebhook({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});

const store = (serviceName: string, body: object) =>
  webhook.store(serviceName, { delivery: 'proxy-only', allowedHosts: [upstream.url], ...body });

describe('a short secret that a proxy could inject', () => {
  test.each<[string, object]>([
    ['a one-time code', { tokenType: 'TOTP', secret: SEED }],
    ['a PIN', { tokenType: 'PlainText', value: '4829' }],
    ['15 characters', { tokenType: 'RawCredential', value: 'aB3$eF6&iJ9(mN2' }],
    ['20 digits', { tokenType: 'JWT', accessToken: '01234567890123456789' }],
    ['20 times the same', { tokenType: 'PlainText', value: 'a'.repeat(20), delivery: 'any' }],
    ['a password in Basic credentials', { tokenType: 'PlainText', value: btoa('administrator:hunter2') }],
    ['a PIN, and no permission', { tokenType: 'PlainText', value: '4829', allowShortSecret: false }],
  ])('is rejected unless its owner permits it: %s', async (_what, body) => {
    const { status, json } = await store('short', body);
    expect([status, json.code]).toEqual([400, 'INVALID_REQUEST']);
    expect(json.error).toMatch(/^allowShortSecret: .*80 bits/);
    expect((await webhook.storage({ op: 'tokens.get', serviceName: 'short' })).status).toBe(404);
  });

  test('is stored if no proxy may use it, or if its owner permits it; no response reveals that it is short', async () => {
    const pin = { tokenType: 'PlainText', value: '4829' };
    expect((await store('pin', { ...pin, allowedHosts: [] })).status).toBe(200);
    expect((await store('pin', { ...pin, allowShortSecret: true })).status).toBe(200);
    expect((await webhook.storage({ op: 'tokens.get', serviceName: 'pin' })).text).not.toMatch(/short/i);
  });

  test('is injected if its owner permits it', async () => {
    await store('pin', { tokenType: 'PlainText', value: '4829', allowShortSecret: true });
    await putProxy(webhook, upstream.url, { serviceName: 'pin' });
    expect((await callProxy(webhook, { serviceName: 'pin' })).status).toBe(200);
    expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer 4829');
    const [entry] = await injections(webhook, 'pin');
    expect(entry?.outcome).toBe('success');
  });
});

describe('an upstream that repeats a header of the agent', () => {
  /** What an agent sees of an answer's head, but for what it sent itself and the clock. */
  const seenWith = async (serviceName: string, guess: string): Promise<string> => {
    const call: ProxyCall = { serviceName, headers: { 'user-agent': guess } };
    const { status, headers } = await callProxy(webhook, call);
    const { date: _date, ...others } = headers;
    const shown = Object.entries(others).map(([name, value]) => [
      name,
      value === guess ? 'the guess' : value,
    ]);
    return JSON.stringify([status, shown]);
  };
  const stored = async (body: object): Promise<string> => {
    expect((await store('guessed', body)).status).toBe(200);
    await putProxy(webhook, upstream.url, { serviceName: 'guessed' });
    await callProxy(webhook, { serviceName: 'guessed' });
    return upstream.requests.at(-1)?.headers.authorization?.slice('Bearer '.length) ?? '';
  };

  test('cannot distinguish the right one of 150,000 codes', async () => {
    echoIn = 'x-echo';
    const code = await stored({ tokenType: 'TOTP', secret: SEED, allowShortSecret: true });
    expect(code).toMatch(/^\d{6}$/);
    const seen = new Map<string, number>();
    const first = Math.max(0, Number(code) - CODES / 2);
    for (let from = first; from < first + CODES; from += AT_ONCE) {
      const guesses = Array.from({ length: AT_ONCE }, (_, at) =>
        String((from + at) % 1_000_000).padStart(6, '0'),
      );
      const what = await seenWith('guessed', guesses.join(' '));
      seen.set(what, (seen.get(what) ?? 0) + guesses.length);
    }
    expect([...seen.values()]).toEqual([CODES]);
    expect(upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${code}`);
  });

  test.each(['content-type', 'location', 'x-echo'])(
    'cannot distinguish the right code in %s',
    async (name) => {
      echoIn = name;
      const code = await stored({ tokenType: 'TOTP', secret: SEED, allowShortSecret: true });
      const wrong = code.replace(/^./, (digit) => String((Number(digit) + 1) % 10));
      for (const encode of [String, btoa, (text: string) => text.replaceAll(/./g, (each) => `%3${each}`)])
        expect(await seenWith('guessed', encode(code))).toBe(await seenWith('guessed', encode(wrong)));
    },
  );

  test('cannot distinguish a part of a long secret from other text', async () => {
    echoIn = 'x-echo';
    const value = 'tkn_0189_abcdefghijklmnop';
    await stored({ tokenType: 'PlainText', value });
    const [whole, other] = [await seenWith('guessed', value), await seenWith('guessed', 'something else')];
    expect([whole.includes('x-echo'), other.includes('x-echo')]).toEqual([false, true]);
    for (let length = 1; length < value.length - 1; length += 1)
      for (const part of [value.slice(0, length), value.slice(-length)])
        for (const guess of [part, btoa(part), encodeURIComponent(part)])
          expect([guess, await seenWith('guessed', guess)]).toEqual([guess, other]);
  });
});
