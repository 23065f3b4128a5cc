import { createHash, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exchangeAnswerSchema } from '@svault/shared/schemas';
import { type WebhookFixture, keyOf, startFixture } from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.stop());

const MINUTE = 60_000;

describe('the exchange', () => {
  // spec: with a secret established through the one-time /v1/exchange code.
  it('gives the secret that the link announced', async () => {
    const { code, hmacHash } = await fixture.connect();
    const { status, json, headers } = await fixture.exchange(code);
    expect(status).toBe(200);
    expect(exchangeAnswerSchema.parse(json).protocol).toBe('v1');
    expect(createHash('sha256').update(keyOf(json).secret).digest('hex')).toBe(hmacHash);
    expect(headers['cache-control']).toBe('no-store');
  });

  it('keeps nothing of the code but its SHA-256', async () => {
    const { code } = await fixture.connect();
    const [row] = fixture.query<{ code_hash: Buffer }>('SELECT * FROM binding_code');
    expect(row!.code_hash.equals(createHash('sha256').update(code).digest())).toBe(true);
    expect(JSON.stringify(row)).not.toContain(code);
  });

  it('takes a code once: 410 CODE_USED, before and after the binding is complete', async () => {
    const { code } = await fixture.connect();
    const { json } = await fixture.exchange(code);
    expect((await fixture.exchange(code)).json.code).toBe('CODE_USED');
    await fixture.sendSigned({ key: keyOf(json) });
    const after = await fixture.exchange(code);
    expect([after.status, after.json.code]).toEqual([410, 'CODE_USED']);
    fixture.clock.advance(6 * MINUTE);
    expect((await fixture.exchange(code)).json.code).toBe('CODE_USED');
    await fixture.restart();
    expect((await fixture.exchange(code)).json.code).toBe('CODE_USED');
  });

  it('gives the secret to exactly one of many at once', async () => {
    const { code } = await fixture.connect();
    const answers = await Promise.all(Array.from({ length: 12 }, () => fixture.exchange(code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ json }) => json.code === 'CODE_USED')).toHaveLength(11);
  });

  it('refuses a code after five minutes: 410 CODE_EXPIRED', async () => {
    const { code } = await fixture.connect();
    fixture.clock.advance(5 * MINUTE - 1);
    const early = await fixture.exchange(code, { service: { baseUrl: 'https://other.example' } });
    expect(early.status).toBe(400);
    fixture.clock.advance(1);
    const late = await fixture.exchange(code);
    expect([late.status, late.json.code]).toEqual([410, 'CODE_EXPIRED']);
    expect(fixture.query('SELECT secret FROM binding_code')).toEqual([{ secret: null }]);
  });

  it('tells of a used or late code for 10 minutes after it was made, and then as of none', async () => {
    for (const isUsed of [true, false]) {
      const { code } = await fixture.connect();
      if (isUsed) await fixture.exchange(code);
      fixture.clock.advance(10 * MINUTE - 1);
      expect((await fixture.exchange(code)).json.code).toBe(isUsed ? 'CODE_USED' : 'CODE_EXPIRED');
      fixture.clock.advance(1);
      expect((await fixture.exchange(code)).json.code).toBe('SIGNATURE_INVALID');
    }
  });

  it('does not open an expired code again when the wall clock is set back', async () => {
    const { code } = await fixture.connect();
    fixture.clock.advance(6 * MINUTE);
    fixture.clock.jump(-6 * MINUTE);
    expect((await fixture.exchange(code)).json.code).toBe('CODE_EXPIRED');
    await fixture.restart();
    expect((await fixture.exchange(code)).json.code).toBe('CODE_EXPIRED');
  });

  it('knows the latest code alone', async () => {
    const first = await fixture.connect();
    const second = await fixture.connect();
    expect((await fixture.exchange(first.code)).json.code).toBe('SIGNATURE_INVALID');
    expect((await fixture.exchange(second.code)).status).toBe(200);
  });

  it('says of a used code to someone without it no more than of any other', async () => {
    const { code } = await fixture.connect();
    await fixture.exchange(code);
    const wrongMac = await fixture.exchange(code, { key: randomUUID() });
    const wrongCode = await fixture.exchange(randomUUID());
    expect(wrongMac.text).toBe(wrongCode.text);
    expect([wrongMac.status, wrongMac.json.code]).toEqual([401, 'SIGNATURE_INVALID']);
  });

  it('refuses another service address, byte for byte, and keeps the code', async () => {
    const { code } = await fixture.connect();
    for (const baseUrl of [
      'https://vault.example/base/',
      'https://VAULT.example/base',
      'https://vault.example:443/base',
      'https://vault.example',
    ]) {
      const answer = await fixture.exchange(code, { service: { baseUrl } });
      expect([answer.status, answer.json.code]).toEqual([400, 'INVALID_REQUEST']);
    }
    expect((await fixture.exchange(code, { service: { vaultId: 7 } })).status).toBe(400);
    expect((await fixture.exchange(code)).status).toBe(200);
  });

  it('refuses times outside, with the right code too', async () => {
    const { code } = await fixture.connect();
    for (const shift of [-91_000, 31_000]) {
      const answer = await fixture.exchange(code, { nowMs: fixture.clock.now() + shift });
      expect(answer.json.code).toBe('SIGNATURE_INVALID');
    }
    expect((await fixture.exchange(code, { nowMs: fixture.clock.now() + 30_000 })).status).toBe(200);
  });

  it('limits wrong codes to 30 a minute and never burns the live one', async () => {
    const { code } = await fixture.connect();
    for (let wrong = 0; wrong < 30; wrong += 1) {
      expect((await fixture.exchange(randomUUID())).status).toBe(401);
    }
    const limited = await fixture.exchange(randomUUID());
    expect([limited.status, limited.json.code]).toEqual([429, 'RATE_LIMITED']);
    expect(limited.headers['retry-after']).toBe('60');
    expect(limited.json.retryAfter).toBe(60);
    // A stranger who keeps the endpoint at its limit does not keep the owner out.
    expect((await fixture.exchange(code)).status).toBe(200);
    fixture.clock.advance(MINUTE);
    expect((await fixture.exchange(randomUUID())).status).toBe(401);
  });

  it('needs a signature: nothing, another key id, another label are all 401', async () => {
    const { code } = await fixture.connect();
    const body = JSON.stringify({ code, service: { baseUrl: 'x', vaultId: 'y' } });
    const json = { 'content-type': 'application/json' };
    const unsigned = await fixture.send({ method: 'POST', path: '/v1/exchange', headers: json, body });
    const sent = { path: '/v1/exchange', body: JSON.parse(body) };
    const otherKey = await fixture.sendSigned({ ...sent, key: { id: 'k', secret: Buffer.alloc(32) } });
    const headers = fixture.sign({ ...sent, key: { id: 'bind', secret: Buffer.from(code) } });
    const relabelled = {
      ...headers,
      signature: headers['signature']!.replace('sv=', 'xx='),
      'signature-input': headers['signature-input']!.replace('sv=', 'xx='),
    };
    const label = await fixture.send({ method: 'POST', path: '/v1/exchange', headers: relabelled, body });
    for (const answer of [unsigned, otherKey, label]) {
      expect([answer.status, answer.text]).toEqual([401, unsigned.text]);
    }
    expect((await fixture.exchange(code)).status).toBe(200);
  });

  it('refuses bodies that are no JSON, too large, or without a code', async () => {
    const { code } = await fixture.connect();
    const key = { id: 'bind', secret: Buffer.from(code) };
    const missing = await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key });
    expect(missing.json.code).toBe('INVALID_REQUEST');
    const headers = fixture.sign({ path: '/v1/exchange', body: {}, key });
    const notJson = await fixture.send({ method: 'POST', path: '/v1/exchange', headers, body: 'no json' });
    expect(notJson.json.code).toBe('INVALID_REQUEST');
    const big = await fixture.send({
      method: 'POST',
      path: '/v1/exchange',
      headers,
      body: Buffer.alloc(1024 * 1024 + 1, 32),
    });
    expect([big.status, big.json.code]).toEqual([413, 'TOO_LARGE']);
    expect((await fixture.exchange(code)).status).toBe(200);
  });

  it('answers other methods 405', async () => {
    const { status, headers } = await fixture.send({ path: '/v1/exchange' });
    expect([status, headers.allow]).toEqual([405, 'POST']);
  });
});
