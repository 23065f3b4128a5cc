import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomToken } from '@svault/shared';
import { type Answer, type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';

/* A compromised control plane has the right key, and writes as much as it can. */

let webhook: BoundWebhook;

const MiB = 1024 * 1024;
const MAX_BYTES = 64 * MiB;
/** One batch of events that takes about 1 MiB. */
const events = (filler = randomBytes(2_500).toString('hex')) =>
  Array.from({ length: 150 }, () => ({
    id: randomToken(),
    eventType: 'AGENT_CREDENTIAL_ACCESS',
    timestamp: '2026-11-20T12:00:00Z',
    outcome: 'success',
    detail: { filler },
  }));
const append = (batch: readonly object[]): Promise<Answer> =>
  webhook.storage({ op: 'audit.append', events: batch });
const head = async (): Promise<object> => (await webhook.storage({ op: 'audit.list', limit: 1 })).json.head;

/** Repeats until the webhook refuses. @returns how often it took one, and the refusal */
async function untilRefused(write: () => Promise<Answer>): Promise<readonly [number, Answer]> {
  for (let taken = 0; taken < 5_000; taken += 1) {
    const answer = await write();
    if (answer.status !== 200) return [taken, answer];
  }
  throw new Error('nothing was refused');
}

describe('audit.append', () => {
  const seen = events();
  let refused: Answer;
  let taken: number;
  beforeAll(async () => {
    webhook = await boundWebhook();
    await append(seen);
    [taken, refused] = await untilRefused(() => append(events()));
  });
  afterAll(() => webhook.remove());

  it('is answered with 429 and the seconds to wait once 64 MiB were written, and writes nothing then', async () => {
    expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([
      429,
      'RATE_LIMITED',
      String(refused.json.retryAfter),
    ]);
    expect(taken).toBeGreaterThan(50);
    expect(statSync(join(webhook.dataDir, 'webhook.db')).size).toBeLessThan(2 * MAX_BYTES);
    const before = await head();
    expect((await append(events())).status).toBe(429);
    expect(await head()).toEqual(before);
  });

  it('is refused in its place of a batch, and the other operations are answered', async () => {
    const batch = [
      { op: 'audit.append', events: events() },
      { op: 'audit.list', limit: 1 },
    ];
    const { status, json } = await webhook.storage({ batch });
    expect(status).toBe(200);
    expect(json.results).toMatchObject([
      { code: 'RATE_LIMITED', retryAfter: expect.any(Number) },
      { head: { seq: expect.any(Number) } },
    ]);
  });

  it('costs nothing for events that were seen before', async () => {
    expect((await append(seen)).json).toEqual({ accepted: 150 });
  });

  it('leaves room for what owners store', async () => {
    expect((await webhook.store('doc', { tokenType: 'PlainText', value: 'x' })).status).toBe(200);
    expect((await webhook.credential('doc')).status).toBe(200);
  });

  it('is taken after the seconds that the refusal named', async () => {
    const batch = events();
    const { retryAfter } = (await append(batch)).json;
    webhook.clock.advance(retryAfter * 1_000);
    expect((await append(batch)).json).toEqual({ accepted: 150 });
  });
});

describe('records', () => {
  beforeAll(async () => {
    webhook = await boundWebhook();
  });
  afterAll(() => webhook.remove());

  it('and settings of proxies are taken until 64 MiB were written, and then answered with 429', async () => {
    const headerTemplates = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`x-header-${n}`, 'y'.repeat(4_000)]),
    );
    const [taken, refused] = await untilRefused(async () => {
      const batch = Array.from({ length: 10 }, () => ({
        op: 'proxies.put',
        proxyId: `prx_${randomToken()}`,
        serviceName: 'doc',
        upstreamUrl: 'https://mcp.example.com/',
        headerTemplates,
      }));
      const answer = await webhook.storage({ batch });
      const limited = answer.json.results?.find(
        (result: { code?: string }) => result.code === 'RATE_LIMITED',
      );
      return limited === undefined ? answer : { ...answer, status: 429, json: limited };
    });
    expect(taken).toBeGreaterThan(50);
    expect(refused.json).toMatchObject({ code: 'RATE_LIMITED', retryAfter: expect.any(Number) });

    const value = 'x'.repeat(60_000);
    const [, full] = await untilRefused(() => webhook.store('large', { tokenType: 'PlainText', value }));
    expect([full.status, full.json]).toEqual([
      429,
      { error: expect.any(String), code: 'RATE_LIMITED', retryAfter: expect.any(Number) },
    ]);
    expect((await append(events())).status).toBe(200);
  });
});
