import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Call,
  type WebhookFixture,
  type ServiceSide,
  startFixture,
} from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
let side: ServiceSide;
beforeEach(async () => {
  fixture = await startFixture();
  side = await fixture.bind();
});
afterEach(() => fixture.stop());

const LIST = { path: '/v1/storage', body: { op: 'tokens.list' } };

/** A request the service signed, ready to be tampered with. */
function signedCall(): Call & { readonly headers: Record<string, string>; readonly body: string } {
  const headers = fixture.sign({ ...LIST, key: side.key });
  return { method: 'POST', path: LIST.path, headers, body: JSON.stringify(LIST.body) };
}

/** Everything that must look the same for every refusal: all but the clock and the request's own ids. */
const visible = ({ status, headers, text }: { status: number; headers: object; text: string }): unknown => {
  const { date: _date, ...fixed } = headers as Record<string, unknown>;
  return { status, headers: fixed, text };
};

describe('a signed request', () => {
  it('is served although Host names something else: the authority comes from the settings', async () => {
    const call = signedCall();
    expect((await fixture.send({ ...call, headers: { ...call.headers, host: 'evil.test' } })).status).toBe(
      200,
    );
  });

  it('signed for the Host that was sent is refused', async () => {
    const elsewhere = await startFixture({ env: { SV_WEBHOOK_URL: 'https://elsewhere.test' } });
    try {
      const headers = elsewhere.sign({ ...LIST, key: side.key });
      const answer = await fixture.send({
        method: 'POST',
        path: LIST.path,
        headers: { ...headers, host: 'elsewhere.test' },
        body: JSON.stringify(LIST.body),
      });
      expect(answer.status).toBe(401);
    } finally {
      await elsewhere.stop();
    }
  });

  it('is accepted once, also of 20 at a time and after a restart', async () => {
    const call = signedCall();
    const answers = await Promise.all(Array.from({ length: 20 }, () => fixture.send(call)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(19);
    await fixture.restart();
    expect((await fixture.send(call)).status).toBe(401);
    expect(fixture.logged()).toContain('"reason":"replayed"');
  });

  it('counts its nonce per key, whatever else differs', async () => {
    const nonce = 'AAECAwQFBgcICQoLDA0ODw';
    expect((await fixture.sendSigned({ ...LIST, key: side.key, nonce })).status).toBe(200);
    const other = await fixture.sendSigned({ key: side.key, nonce, ttlSeconds: 10 });
    expect(other.status).toBe(401);
  });

  it('is refused in the same bytes, whatever is wrong', async () => {
    const { headers, ...call } = signedCall();
    const without = (name: string): Record<string, string> =>
      Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));
    const changed = (name: string, from: string, to: string): Record<string, string> => ({
      ...headers,
      [name]: headers[name]!.replace(from, to),
    });
    const input = headers['signature-input']!;
    const tampered: Call[] = [
      { ...call, headers: without('signature') },
      { ...call, headers: without('signature-input') },
      { ...call, headers: without('content-digest') },
      { ...call, headers, body: `${call.body} ` },
      { ...call, headers, path: '/v1/storage?' },
      { ...call, headers, path: '/v1/storage?x=1' },
      { ...call, headers, rawHeaders: ['signature', headers['signature']!] },
      { ...call, headers, rawHeaders: ['Signature-Input', input] },
      { ...call, headers, rawHeaders: ['Content-Digest', headers['content-digest']!] },
      { ...call, headers: { ...headers, 'content-type': 'application/json;charset=utf-8' } },
      { ...call, headers: { ...headers, 'sv-ticket': 'a.b.c' } },
      { ...call, headers: changed('signature-input', 'sv=', 'sv2=') },
      { ...call, headers: changed('signature-input', 'hmac-sha256', 'rsa-pss-sha512') },
      { ...call, headers: changed('signature-input', 'sv-webhook-v1', 'sv-webhook-v2') },
      { ...call, headers: changed('signature-input', side.key.id, 'unknown-key') },
      { ...call, headers: changed('signature-input', side.key.id, 'bind') },
      { ...call, headers: changed('signature-input', '"@query" ', '') },
      { ...call, headers: changed('signature', ':', ':AAAA') },
      { ...call, headers: { ...headers, signature: `sv=:${Buffer.alloc(16).toString('base64')}:` } },
      { ...call, headers: { ...headers, signature: `${headers['signature']!}, sv2=:AAAA:` } },
      { ...call, headers: fixture.sign({ ...LIST, key: side.key, nowMs: fixture.clock.now() - 91_000 }) },
      { ...call, headers: fixture.sign({ ...LIST, key: { ...side.key, secret: Buffer.alloc(32) } }) },
    ];
    const answers = await Promise.all(tampered.map((each) => fixture.send(each)));
    const [first] = answers;
    expect(first!.json).toEqual({ error: expect.any(String), code: 'SIGNATURE_INVALID' });
    for (const answer of answers) expect(visible(answer)).toEqual(visible(first!));
    expect((await fixture.send({ ...call, headers })).status).toBe(200);
  });

  // spec: HMAC-SHA256 request signing,
  // spec: The webhook must verify every signature before processing a request.
  it('is refused with any one bit flipped, and nothing is written for it', async () => {
    const { headers, ...call } = signedCall();
    const before = fixture.rows();
    const flips: Call[] = [];
    for (const name of ['signature-input', 'signature', 'content-digest', 'content-type']) {
      const value = headers[name]!;
      for (let at = 0; at < value.length; at += 1) {
        const flipped = String.fromCharCode(value.charCodeAt(at) ^ 1);
        const changed = value.slice(0, at) + flipped + value.slice(at + 1);
        flips.push({ ...call, headers: { ...headers, [name]: changed } });
      }
    }
    for (let at = 0; at < call.body.length; at += 1) {
      const body = Buffer.from(call.body);
      body[at]! ^= 1;
      flips.push({ ...call, headers, body });
    }
    for (const flip of flips) expect((await fixture.send(flip)).status).toBe(401);
    expect(flips.length).toBeGreaterThan(300);
    // R15: no claim, no log entry, no row of any kind.
    expect(fixture.rows()).toEqual(before);
    expect((await fixture.send({ ...call, headers })).status).toBe(200);
    expect(fixture.rows()).not.toEqual(before);
  });

  it('names its reason in the log', async () => {
    const headers = fixture.sign({ ...LIST, key: side.key, nowMs: fixture.clock.now() + 31_000 });
    await fixture.send({ method: 'POST', path: LIST.path, headers, body: JSON.stringify(LIST.body) });
    expect(fixture.logged()).toContain('"reason":"not_yet_valid"');
  });

  it('is refused before a binding, by an unknown key alike', async () => {
    const unbound = await startFixture();
    try {
      const answer = await unbound.sendSigned({ ...LIST, key: side.key });
      expect([answer.status, answer.json.code]).toEqual([401, 'SIGNATURE_INVALID']);
    } finally {
      await unbound.stop();
    }
  });
});

describe('clocks (R5)', () => {
  const at = (shiftMs: number, ttlSeconds = 60): Promise<number> =>
    fixture
      .sendSigned({ ...LIST, key: side.key, nowMs: fixture.clock.now() + shiftMs, ttlSeconds })
      .then(({ status }) => status);

  it('may differ by 30 s either way and no more', async () => {
    expect(await at(30_000)).toBe(200);
    expect(await at(-90_000)).toBe(200);
    expect(await at(31_000)).toBe(401);
    expect(await at(-91_000)).toBe(401);
    expect(await at(300_000)).toBe(401);
    expect(await at(-300_000)).toBe(401);
  });

  it('set back let neither a used nor an unused request live again', async () => {
    const used = signedCall();
    expect((await fixture.send(used)).status).toBe(200);
    const unused = signedCall();
    fixture.clock.advance(91_000);
    expect((await fixture.send(unused)).status).toBe(401);
    fixture.clock.jump(-91_000);
    expect((await fixture.send(unused)).status).toBe(401);
    expect((await fixture.send(used)).status).toBe(401);
    await fixture.restart();
    expect((await fixture.send(unused)).status).toBe(401);
    expect((await fixture.send(used)).status).toBe(401);
  });

  it('that ran ahead for a while do not keep the service out once they are right', async () => {
    fixture.clock.jump(86_400_000);
    expect(await at(-86_400_000)).toBe(401);
    await fixture.restart();
    fixture.clock.jump(-86_400_000);
    expect(await at(0)).toBe(200);
  });

  it('that ran ahead by what is just let in cost no request once they are right', async () => {
    fixture.clock.jump(89_000);
    expect(await at(-89_000)).toBe(200);
    fixture.clock.jump(-89_000);
    expect(await at(-1_000)).toBe(200);
    expect(await at(-5_000, 30)).toBe(200);
  });

  it('keep the list of claims bounded', async () => {
    for (let round = 0; round < 5; round += 1) await at(0);
    fixture.clock.advance(600_000);
    expect(await at(0)).toBe(200);
    await fixture.restart();
    await expect
      .poll(() => fixture.query<{ n: number }>('SELECT count(*) AS n FROM claims')[0]!.n)
      .toBeLessThanOrEqual(1);
  });
});

describe('after a restore from a backup', () => {
  it('refuses what was made up to 30 s after it', async () => {
    const early = signedCall();
    fixture.query(`UPDATE epochs SET restored = 1, started_at = ${fixture.clock.now()}`);
    await fixture.restart();
    expect((await fixture.send(early)).status).toBe(401);
    fixture.clock.advance(30_000);
    expect((await fixture.send(signedCall())).status).toBe(401);
    fixture.clock.advance(1_000);
    expect((await fixture.send(signedCall())).status).toBe(200);
    expect(fixture.logged()).toContain('"reason":"before_restore"');
  });
});
